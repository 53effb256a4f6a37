"""Method `twin` in six degrees of freedom: the same scalar twin along the contact's normal, inside the exact two bodies.

Contact, balance and identification of the robot are those of one degree of freedom. What is new: the mass that the contact
feels (mobility), normals that may be wrong (planes), impulses that keep momentum and energy exactly (body), a clock for frames
that the robot cannot follow (clock), and the whole pose ahead (lead, govern, command).
"""
