"""What every lab promises, and what is taken over of what one leaves; each lab is a room beside."""
