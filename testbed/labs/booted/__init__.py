"""What labs that boot a kernel share: the root image, the code in it, a boot to its end."""
