"""Losses with known answers, on which the parts of the audit are tested."""


def k1(log_pi, log_ref):
    return (log_pi - log_ref).mean()


def k2(log_pi, log_ref):
    return ((log_pi - log_ref) ** 2 / 2).mean()


def k3(log_pi, log_ref):
    x = log_ref - log_pi
    return (x.exp() - 1 - x).mean()


def minus_log_u(log_pi, log_ref):
    return (log_ref - log_pi).mean()


def rehearsed_k3(log_pi, log_ref):
    x = log_pi - log_ref
    return (x.exp() - 1 - x).mean()


def u_log_u(log_pi, log_ref):
    x = log_pi - log_ref
    return (x.exp() * x).mean()


def policy_gradient(log_pi, advantages):
    return -(log_pi * advantages).sum(dim=-1).mean()
