"""What the driver of a robot with RSI can say of a cycle: a code in the loop, a sentence outside it."""

OK, SILENT, LIMITED, NOT_SENDABLE, LINE, RESTARTED, RIVAL = 0, 1, 2, 3, 4, 5, 6
SENTENCES = {
    SILENT: "the robot has sent no packet for too long; look at its program, its messages and the cable",
    LIMITED: "a set-point was further from the last one than a cycle may go; lower limits.speed or raise the rig's step_limit",
    NOT_SENDABLE: "a set-point was not a finite pose within the robot's numbers; look at the rows before the fault",
    LINE: "an answer to the robot could not be sent; look at the network",
    RESTARTED: "the robot's program was started again; look where the robot stands; with absolute corrections, connect again",
    RIVAL: "a second sender claims to be the robot; end it, or name the robot's address and port in robot.peer; connect again",
}
