/* A free rigid body: the model of this example. All numbers of an instance are in one array; a value reference is an index into it. */

enum {
    FORCE = 0,             /* in:  N, at the centre of mass, in the world frame like everything here */
    TORQUE = 3,            /* in:  N·m */
    POSITION = 6,          /* out: m */
    ATTITUDE = 9,          /* out: unit quaternion w x y z */
    VELOCITY = 13,         /* out: m/s */
    ANGULAR_VELOCITY = 16, /* out: rad/s */
    MASS = 19,             /* parameter: kg */
    INERTIA = 20,          /* parameter: kg·m², row by row, in the body frame */
    NUMBERS = 29
};

struct body {
    double z[NUMBERS];
    double L[3];             /* angular momentum */
    double inverse[3][3];    /* of the inertia */
};

void body_defaults(struct body *b);
int body_begin(struct body *b);            /* after the parameters are set; 0 if they are impossible */
int body_step(struct body *b, double dt);  /* the wrench is held over dt; 0 if the result is not finite */
