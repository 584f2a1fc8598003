# control.cpp with CasADi.
from casadi import Opti, pi, sin, vertcat

N = 100
opti = Opti()
states, u, time = opti.variable(2, N + 1), opti.variable(1, N), opti.variable()


def derivative(x, u):
    return vertcat(x[1], u - x[1])


opti.minimize(time)
h = time / N
for k in range(N):
    x = states[:, k]
    k1 = derivative(x, u[k])
    k2 = derivative(x + h / 2 * k1, u[k])
    k3 = derivative(x + h / 2 * k2, u[k])
    k4 = derivative(x + h * k3, u[k])
    opti.subject_to(states[:, k + 1] == x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
opti.subject_to(states[1, :] <= 1 - sin(2 * pi * states[0, :]) / 2)
opti.subject_to(opti.bounded(0, u, 1))
opti.subject_to(states[:, 0] == 0)
opti.subject_to(states[0, N] == 1)
opti.subject_to(time >= 0)
opti.set_initial(states[1, :], 1)
opti.set_initial(time, 1)
opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
solution = opti.solve()
print(f"time {solution.value(time):.6f}, speed in the middle {solution.value(states[1, N // 2]):.6f}")
