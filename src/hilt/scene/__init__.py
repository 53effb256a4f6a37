"""Three-dimensional pictures of runs: shapes and poses that systems draw with."""
