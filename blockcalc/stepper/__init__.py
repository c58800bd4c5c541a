"""Going through the steps on a screen: one equation at a time, any cell of it worked."""
