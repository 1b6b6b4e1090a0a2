"""Partial differential equations."""

from __future__ import annotations

import functools
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest

import firebox


def test_a_problem_from_python():
    problem = firebox.Problem(
        domain={"type": "box", "low": [0, 0], "high": ["pi", "pi"]},
        equation={"laplacian": 1, "rhs": "sin(x)*sin(y)"},
        boundary=[{"condition": "dirichlet", "value": 0}],
    )
    solution = firebox.RBFSolver().solve(problem)
    points = np.random.default_rng(0).uniform(0, np.pi, (50, 2))
    exact = -0.5 * np.sin(points[:, 0]) * np.sin(points[:, 1])
    assert np.abs(solution(points) - exact).max() < 1e-6
    slope = -0.5 * np.cos(points[:, 0]) * np.sin(points[:, 1])
    assert np.abs(solution.gradient(points)[:, 0] - slope).max() < 1e-5
    assert np.abs(solution.laplacian(points) + 2 * exact).max() < 1e-3


BOX = {"type": "box", "low": [0, 0], "high": [1, 1]}
SOLVED = {
    "domain": BOX,
    "equation": {
        "laplacian": lambda p: 1 + p[:, 0],
        "gradient": [1, 0],
        "value": lambda p: -2,
        "rhs": lambda p: p[:, 1] - 2 * p[:, 0] * p[:, 1],
    },
    "boundary": [
        {"on": "left", "condition": "neumann", "value": lambda p: -p[:, 1]},
        {
            "on": "right",
            "condition": "robin",
            "normal": lambda p: 2 + p[:, 1],
            "coefficient": 1,
            "value": lambda p: (3 + p[:, 1]) * p[:, 1],
        },
        {"condition": "dirichlet", "value": lambda p: p[:, 0] * p[:, 1]},
    ],
    "exact": lambda p: p[:, 0] * p[:, 1],
}


@pytest.mark.parametrize("mode", ["auto", "paper"])
def test_functions_of_numpy(mode):
    # u = x y.
    solution = firebox.RBFSolver(mode=mode).solve(firebox.Problem(**SOLVED))
    assert solution.relative_l2 < (1e-6 if mode == "auto" else 1e-3)


def second_column(points, factor):
    return factor * points[:, 1]


# The same problem by expressions and by functions, whose values have the same bits.
PAIRS = {
    "initial": [
        {
            "coordinates": ["x", "t"],
            "domain": BOX,
            "equation": {"terms": {"u_tt": 1, "u_xx": -1}},
            "boundary": [
                {"on": "t=low", "condition": "initial", "value": value, "rate": rate},
                {"on": "t=high", "condition": "none"},
                {"condition": "dirichlet", "value": side},
            ],
        }
        for value, rate, side in [
            ("x", "2*x", "x+2*x*t"),
            (lambda p: p[:, 0], lambda p: 2 * p[:, 0], lambda p: p[:, 0] + 2 * p[:, 0] * p[:, 1]),
        ]
    ],
    "oblique": [
        {
            "domain": BOX,
            "equation": {"laplacian": 1, "gradient": [slope, 0], "rhs": rhs},
            "boundary": [
                {"on": "left", "condition": "oblique", "direction": direction, "coefficient": own, "value": value},
                {"condition": "dirichlet", "value": "x*y"},
            ],
        }
        for slope, rhs, direction, own, value in [
            ("y", "y*y", ["1", "y"], "1", "y"),
            (
                lambda p: p[:, 1],
                lambda p: p[:, 1] * p[:, 1],
                [lambda p: np.ones(len(p)), lambda p: p[:, 1]],
                lambda p: 1,
                lambda p: p[:, 1],
            ),
        ]
    ],
    "jumps": [
        {
            "domain": BOX,
            "equation": {"laplacian": 1},
            "region": [
                {
                    "shape": {"type": "box", "low": [0, 0], "high": [0.5, 1]},
                    "equation": {"laplacian": 1},
                    "jump": jump,
                    "flux_jump": flux,
                }
            ],
            "boundary": [{"condition": "dirichlet", "value": value}],
        }
        # u = x y, and 2 x y + y / 2 in the region.
        for jump, flux, value in [
            ("y", "y", "if(x < 0.5, 2*x*y + y/2, x*y)"),
            (
                functools.partial(second_column, factor=1.0),
                lambda p: p[:, 1],
                lambda p: np.where(p[:, 0] < 0.5, 2 * p[:, 0] * p[:, 1] + p[:, 1] / 2, p[:, 0] * p[:, 1]),
            ),
        ]
    ],
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_functions_have_the_solutions_of_equal_expressions(pair):
    points = np.random.default_rng(0).uniform(0, 1, (100, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", firebox.FireboxWarning)
        expressions, functions = (
            firebox.RBFSolver(target_error=1e-3).solve(firebox.Problem(**tables))(points) for tables in pair
        )
    assert np.ptp(expressions) > 0.5
    assert np.array_equal(expressions, functions)


def test_functions_may_return_tensors_of_torch():
    torch = pytest.importorskip("torch")
    problem = firebox.Problem(
        BOX, {"laplacian": 1, "rhs": lambda p: torch.from_numpy(p).sum(dim=1)}, [{"condition": "dirichlet", "value": 0}]
    )
    assert firebox.RBFSolver(target_error=1e-3).solve(problem).resolved


def test_functions_receive_points_and_return_a_value_each():
    sizes = set()

    def source(points):
        sizes.add(len(points))
        assert points.dtype == np.float64 and points.shape == (len(points), 2)
        return points.sum(axis=1).astype(np.float32)

    equation = {"laplacian": 1, "rhs": source}
    boundary = [{"condition": "dirichlet", "value": 0}]
    problem = firebox.Problem(SOLVED["domain"], equation, boundary)
    assert firebox.RBFSolver().solve(problem).resolved
    assert 0 not in sizes and max(sizes) > 100


class MeshError(ValueError):
    """Of a user's function."""


@pytest.mark.parametrize("where", ["rhs", "laplacian", "value", "exact"])
def test_an_exception_in_a_function_is_raised_and_the_problem_stays_usable(where):
    fails = [True]

    def function(points):
        if fails[0]:
            raise MeshError(404)
        return np.full(len(points), 1.0)

    tables = {"rhs": 1, "laplacian": 1, "value": 1, "exact": 1, where: function}
    problem = firebox.Problem(
        domain=SOLVED["domain"],
        equation={"laplacian": tables["laplacian"], "rhs": tables["rhs"]},
        boundary=[{"condition": "dirichlet", "value": tables["value"]}],
        exact=tables["exact"],
    )
    with pytest.raises(MeshError) as error:
        firebox.RBFSolver(target_error=1e-3).solve(problem)
    assert error.value.args == (404,)
    fails[0] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", firebox.FireboxWarning)
        assert firebox.RBFSolver(target_error=1e-3).solve(problem).n_neurons > 0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda p: p, r"the function equation\.rhs returned shape \(\d+, 2\): return one value a point"),
        (lambda p: p[:-1, 0], r"returned shape \(\d+,\)"),
        (lambda p: np.where(p[:, 0] > 0.5, 1, np.nan), "the right-hand side, the function equation.rhs, is not a number"),
        (lambda p: ["a"] * len(p), "could not convert string to float"),
        (lambda p: None, "the function equation.rhs returned nothing"),
        (lambda p: p[:, 0] * 1j, "the function equation.rhs returned complex numbers"),
        (lambda p: np.ma.masked_less(p[:, 0], 0.5), "the right-hand side, the function equation.rhs, is not a number"),
    ],
)
def test_values_of_functions_are_checked(function, message):
    problem = firebox.Problem(
        SOLVED["domain"], {"laplacian": 1, "rhs": function}, [{"condition": "dirichlet", "value": 0}]
    )
    with pytest.raises(ValueError, match=message):
        firebox.RBFSolver().solve(problem)


def test_functions_are_refused_where_numbers_belong():
    with pytest.raises(ValueError, match="a function is not possible here"):
        firebox.Problem({"type": "box", "low": [0, np.sum], "high": [1, 1]}, {"laplacian": 1}, [])


def test_a_problem_of_functions_pickles():
    problem = firebox.Problem(
        BOX,
        {"laplacian": 1, "rhs": first_column},
        [{"condition": "dirichlet", "value": 0}],
    )
    solutions = [firebox.RBFSolver().solve(it) for it in (problem, pickle.loads(pickle.dumps(problem)))]
    at = np.full((1, 2), 0.3)
    assert solutions[0](at) == solutions[1](at)


def first_column(points):
    return points[:, 0]


REGIONS = {
    "domain": BOX,
    "equation": {"laplacian": 1, "rhs": 1},
    "region": [{"shape": {"type": "box", "low": [0, 0], "high": [0.5, 1]}, "equation": {"laplacian": 10, "rhs": 1}}],
    "boundary": [{"condition": "dirichlet", "value": 0}],
}
SLABS = {
    "coordinates": ["x", "t"],
    "domain": {"type": "box", "low": [0, 0], "high": [1, 3]},
    "equation": {"terms": {"u_t": 1, "u_xx": -0.1}},
    "time": {"slabs": 3},
    "boundary": [{"on": "t=high", "condition": "none"}, {"condition": "dirichlet", "value": "sin(pi*x)*exp(-0.1*pi^2*t)"}],
}


@pytest.mark.parametrize("tables", [REGIONS, SLABS], ids=["regions", "slabs"])
def test_solutions_of_several_networks_pickle(tables):
    problem = firebox.Problem(**tables)
    solution = firebox.RBFSolver(target_error=1e-3).solve(problem)
    again = pickle.loads(pickle.dumps(solution))
    low, high = problem.bounds
    points = np.random.default_rng(0).uniform(low, high, (300, 2))
    for of in ("evaluate", "gradient", "laplacian"):
        assert np.array_equal(getattr(again, of)(points), getattr(solution, of)(points))
    assert repr(again) == repr(solution)


# The determinant of the second derivatives; u = exp((x² + y²)/2).
MONGE_AMPERE = {
    "domain": BOX,
    "equation": {"residual": "u_xx*u_yy - u_xy^2 - (1 + x^2 + y^2)*exp(x^2 + y^2)"},
    "boundary": [{"condition": "dirichlet", "value": "exp((x^2 + y^2)/2)"}],
    "initial": lambda p: (p**2).sum(axis=1),
}


def test_an_equation_that_is_not_linear():
    points = np.random.default_rng(0).uniform(0, 1, (100, 2))
    exact = np.exp((points**2).sum(axis=1) / 2)
    solver = firebox.RBFSolver(target_error=1e-4)
    solution = solver.solve(firebox.Problem(**MONGE_AMPERE))
    assert solution.resolved and np.abs(solution(points) - exact).max() < 1e-3
    # Another name of u, and the same u by an expression.
    residual = MONGE_AMPERE["equation"]["residual"].replace("u_", "height_")
    named = MONGE_AMPERE | {"equation": {"residual": residual}, "unknown": "height", "initial": "x^2 + y^2"}
    assert np.abs(solver.solve(firebox.Problem(**named))(points) - exact).max() < 1e-3


def test_a_continuation_leads_to_its_solution():
    tables = {
        "domain": {"type": "box", "low": [0], "high": [1]},
        "equation": {"residual": "u_xx + k^2*sin(u) + 10*pi^2*sin(pi*x) - k^2*sin(10*sin(pi*x))"},
        "boundary": [{"condition": "dirichlet", "value": 0}],
        "exact": "10*sin(pi*x)",
    }
    errors = [
        firebox.RBFSolver().solve(firebox.Problem(**tables, **way)).relative_l2
        for way in ({"constants": {"k": 10}}, {"continuation": {"k": [0, 10]}})
    ]
    assert errors[0] > 0.1 and errors[1] < 1e-6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"equation": {"residual": "x + y"}}, "the equation contains no u"),
        ({"equation": {"residual": "u_xx + u_yy - u_xxx"}}, "'u_xxx' is a derivative of order 3"),
        ({"equation": {"residual": lambda p: p[:, 0]}}, "a function is not possible here"),
        ({"equation": {"laplacian": 1}}, "initial is for nonlinear equations"),
        ({"unknown": "pi"}, "the name 'pi' is taken"),
    ],
)
def test_residuals_are_checked(changes, message):
    with pytest.raises(ValueError, match=message):
        firebox.Problem(**(MONGE_AMPERE | changes))


# A spring: u = sin 2t and its speed.
SPRING = {
    "coordinates": ["t"],
    "unknowns": ["u", "v"],
    "domain": {"type": "box", "low": [0], "high": [3]},
    "equation": [{"residual": "u_t - v"}, {"residual": "v_t + 4*u"}],
    "boundary": [
        {"on": "t=high", "condition": "none"},
        {"of": "u", "condition": "dirichlet", "value": lambda p: np.zeros(len(p))},
        {"of": "v", "condition": "dirichlet", "value": 2},
    ],
    "exact": ["sin(2*t)", "2*cos(2*t)"],
}


def test_a_system():
    solution = firebox.RBFSolver(target_error=1e-5).solve(firebox.Problem(**SPRING))
    t = np.linspace(0, 3, 31)[:, np.newaxis]
    exact = np.stack([np.sin(2 * t[:, 0]), 2 * np.cos(2 * t[:, 0])], axis=1)
    assert solution.resolved and solution.unknowns == ["u", "v"]
    assert solution(t).shape == (31, 2) and np.abs(solution(t) - exact).max() < 1e-4
    assert solution.gradient(t).shape == (31, 2, 1) and solution.laplacian(t).shape == (31, 2)
    speed = solution["v"]
    assert np.array_equal(speed(t), solution(t)[:, 1]) and np.array_equal(speed.gradient(t), solution.gradient(t)[:, 1])
    assert speed.relative_l2 < 1e-5 and speed.name == "v" and speed.n_neurons < solution.n_neurons
    assert list(solution) == ["u", "v"] and "v" in solution and "w" not in solution
    with pytest.raises(KeyError, match="no unknown 'w': give one of u, v"):
        solution["w"]
    with pytest.raises(ValueError, match="several unknowns"):
        solution.report("spring.html")
    assert "estimate" in solution._repr_html_()


def test_a_system_in_slabs_of_time_pickles():
    tables = SPRING | {"boundary": SPRING["boundary"][:1] + [
        {"of": "u", "condition": "dirichlet", "value": 0},
        {"of": "v", "where": "t < 1", "condition": "dirichlet", "value": 2},
    ], "time": {"slabs": 2}}
    solution = firebox.RBFSolver(target_error=1e-4).solve(firebox.Problem(**tables))
    t = np.linspace(0, 3, 31)[:, np.newaxis]
    assert solution.relative_l2 < 1e-4
    assert np.array_equal(pickle.loads(pickle.dumps(solution))(t), solution(t))
    assert np.array_equal(pickle.loads(pickle.dumps(solution["v"]))(t), solution["v"](t))


def measured(t, sigma):
    values = np.exp(-2 * t) + sigma * np.random.default_rng(1).normal(size=len(t))
    return {"x": t[:, np.newaxis], "values": values}


# u' = -k u with k = 2.
DECAY = {
    "coordinates": ["t"],
    "domain": {"type": "box", "low": [0], "high": [1]},
    "equation": {"residual": "u_t + k*u"},
    "boundary": [{"on": "t=high", "condition": "none"}, {"condition": "dirichlet", "value": 1}],
    "parameters": {"k": 1},
}


def test_a_number_from_data():
    problem = firebox.Problem(**DECAY, data=[measured(np.linspace(0.02, 1, 50), 0.01)])
    for problem in (problem, pickle.loads(pickle.dumps(problem))):
        solution = firebox.RBFSolver().solve(problem)
        error = solution.standard_errors["k"]
        assert abs(solution.parameters["k"] - 2) < 4 * error < 0.2
        assert solution.resolved and 0.005 < solution.noise[0] < 0.02
    assert solution(np.array([[0.5]])).shape == (1,) and "k" in solution._repr_html_() and "k=" in repr(solution)


def test_a_number_from_data_with_a_continuation():
    tables = DECAY | {"equation": {"residual": "u_t + k*u + c*u*(1 - u)"}, "continuation": {"c": ["1", "1/1000"]}}
    t = np.linspace(0.02, 1, 50)
    solution = firebox.RBFSolver().solve(firebox.Problem(**tables, data=[{"x": t, "values": np.exp(-2 * t), "noise": 0.01}]))
    assert abs(solution.parameters["k"] - 2) < 0.05


def test_a_function_from_data():
    # (a u')' = f with u = sin x and a = 2 + x; u has no conditions but its values.
    x = np.linspace(0, 1.5, 60)
    problem = firebox.Problem(
        domain={"type": "box", "low": [0], "high": [1.5]},
        equation={"residual": "a*u_xx + a_x*u_x + (2 + x)*sin(x) - cos(x)"},
        boundary=[{"of": "a", "condition": "dirichlet", "value": "2 + x"}],
        fields={"a": 1},
        data=[{"of": "u", "x": x, "values": np.sin(x), "noise": 0}],
    )
    solution = firebox.RBFSolver(target_error=1e-3).solve(problem)
    assert solution.unknowns == ["u", "a"] and np.abs(solution["a"](x) - (2 + x)).max() < 1e-2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "nothing determines k: there are no measured values"),
        ({"boundary": None}, "there is no boundary condition"),
        ({"unknown": "v", "unknowns": ["u"]}, "unknown and unknowns exclude each other"),
        ({"data": [{"x": np.zeros((2, 1)), "values": np.zeros(3)}]}, r"data\[0\] has x of shape \(2, 1\) and values of shape \(3,\)"),
        ({"data": [{"x": np.zeros((2, 2)), "values": np.zeros(2)}]}, "the points have 2 coordinates, and the problem 1"),
        ({"data": [{"x": np.zeros(2)}]}, r"data\[0\] has no key 'values'"),
        ({"data": {"x": np.zeros(2), "values": np.zeros(2)}}, "data is not a list of dictionaries"),
        ({"data": [{"x": np.zeros(2), "values": np.zeros(2) * 1j}]}, r"values of data\[0\] are complex numbers"),
        ({"data": [{"x": np.zeros(2), "values": np.ma.masked_less(np.arange(2.0), 1)}]}, "row 1 is not finite"),
        ({"unknowns": []}, "unknowns is empty"),
        ({"data": [{"x": np.zeros(2), "values": np.zeros(2), "weight": 1}]}, r"data\[0\] has no key 'weight'"),
        ({"data": [{"of": "k", "x": np.zeros(2), "values": np.zeros(2)}]}, "'k' is not a function: give one of u"),
        ({"data": [{"x": np.full(2, 3.0), "values": np.zeros(2)}]}, r"data\[0\] has a value at \(3\), outside the domain"),
        ({"data": [{"x": np.zeros(1), "values": np.array([np.nan])}]}, "not finite"),
        ({"data": [{"x": np.zeros(1), "values": np.zeros(1), "noise": -1}]}, "noise = -1"),
        ({"time": {"slabs": 2}, "data": [{"x": np.zeros(1), "values": np.zeros(1)}]}, "slabs of time"),
    ],
)
def test_measured_values_are_checked(changes, message):
    with pytest.raises(ValueError, match=message):
        firebox.RBFSolver().solve(firebox.Problem(**(DECAY | changes)))


def test_an_exception_in_the_first_u_is_raised():
    def first(points):
        raise MeshError(404)

    with pytest.raises(MeshError):
        firebox.RBFSolver().solve(firebox.Problem(**(MONGE_AMPERE | {"initial": first})))


def test_the_papers_network():
    solution = firebox.RBFSolver(mode="paper").solve(firebox.Problem.named("poisson-sine"))
    assert solution.relative_l2 < 1e-4 and solution.resolved is None
    with pytest.raises(ValueError, match="no option `other`"):
        firebox.RBFSolver(mode="paper", options={"other": 1}).solve(firebox.Problem.named("poisson-sine"))


def test_a_problem_whose_function_refers_to_it_is_collected():
    class Model:
        def __init__(self):
            equation = {"laplacian": 1, "rhs": self.source}
            self.problem = firebox.Problem(BOX, equation, [{"condition": "dirichlet", "value": 0}])

        def source(self, points):
            return points[:, 0]

    model = Model()
    alive = weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None
