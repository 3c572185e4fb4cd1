"""Publications held against themselves: do their printed numbers agree?"""
