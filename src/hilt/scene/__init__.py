"""Three-dimensional pictures of runs: shapes and places that systems draw with."""
