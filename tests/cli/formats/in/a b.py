s = "<ü%>"; x = = 1  # triton
