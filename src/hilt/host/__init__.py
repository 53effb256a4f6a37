"""What hilt uses of the operating system: private folders, shared memory, child processes, signals, real-time rights."""
