"""Configuration and what infrastructure tools print: YAML, TOML, terraform, kubectl describe, docker build."""

from __future__ import annotations

import random

from tests.bench.quality.facts import Payload, payload
from tests.bench.quality.words import ident, noun, sentence, snake, stamp, title


def yaml(rng: random.Random) -> Payload:
    lines, salient, deep = ["version: 3", "services:"], [], []
    for at in range(60):
        salient.append(f"{noun(rng)}-{noun(rng)}-{at}:")
        deep.append(f'{snake(rng).upper()}: "{rng.randint(10**4, 10**6)}"')
        lines += [
            f"  {salient[-1]}",
            f"    image: registry.example.org/{noun(rng)}:{rng.randint(1, 9)}.{rng.randint(0, 99)}",
            "    environment:",
            f"      {deep[-1]}",
            f"      {snake(rng).upper()}: {noun(rng)}",
            "    deploy:",
            f"      replicas: {rng.randint(1, 9)}",
            "      resources:",
            f"        memory: {rng.randint(64, 4096)}Mi",
            f"    depends_on: [{noun(rng)}, {noun(rng)}]",
        ]
    return payload("yaml", "\n".join(lines) + "\n", salient, deep)


def manifests(rng: random.Random) -> Payload:
    """Kubernetes manifests in one stream."""
    parts, salient, deep = [], [], []
    for at in range(44):
        salient.append(f"name: {noun(rng)}-{noun(rng)}-{at}")
        deep.append(f'value: "{noun(rng)}-{rng.randint(10**4, 10**6)}"')
        parts.append(
            f"---\napiVersion: apps/v1\nkind: {rng.choice(['Deployment', 'Service', 'ConfigMap'])}\nmetadata:\n  {salient[-1]}\n  labels:\n    app: {noun(rng)}\nspec:\n  replicas: {rng.randint(1, 9)}\n  template:\n    spec:\n      containers:\n      - image: registry.example.org/{noun(rng)}@sha256:{ident(rng, 20)}\n        env:\n        - name: {snake(rng).upper()}\n          {deep[-1]}\n        ports:\n        - containerPort: {rng.randint(2000, 60000)}"
        )
    return payload("manifests", "\n".join(parts), salient, deep)


def toml(rng: random.Random) -> Payload:
    lines, salient, deep = [f'title = "{title(rng)}"', ""], [], []
    for at in range(70):
        salient.append(f"[{noun(rng)}.{snake(rng)}{at}]")
        deep.append(f"{snake(rng)} = {rng.randint(10**4, 10**7)}")
        lines += [
            f"# {sentence(rng)}",
            salient[-1],
            deep[-1],
            f'{snake(rng)} = "{noun(rng)} {noun(rng)}"',
            f"enabled = {rng.choice(['true', 'false'])}",
            f"{snake(rng)} = [{', '.join(str(rng.randint(1, 999)) for _ in range(5))}]",
            "",
        ]
    return payload("toml", "\n".join(lines), salient, deep)


def terraform(rng: random.Random) -> Payload:
    lines, salient, deep = ["Terraform will perform the following actions:", ""], [], []
    for at in range(46):
        verb = rng.choice(["created", "updated in-place"]) if at not in (13, 30) else "destroyed"
        name = f"aws_{noun(rng)}.{snake(rng)}_{at}"
        salient.append(f"# {name} will be {verb}")
        deep.append(f'"arn:aws:{noun(rng)}:eu-west-1:{rng.randint(10**11, 10**12)}:{noun(rng)}"')
        mark = {"created": "+", "destroyed": "-"}.get(verb, "~")
        lines += [
            f"  {salient[-1]}",
            f'  {mark} resource "{name.split(".")[0]}" "{name.split(".")[1]}" {{',
            f"      {mark} arn         = {deep[-1]}",
            f"      {mark} id          = (known after apply)",
            f'      {mark} instance    = "{noun(rng)}.{rng.choice(["small", "large"])}"',
            f"      {mark} retention   = {rng.randint(1, 90)}",
            f"      {mark} tags        = {{",
            f'          {mark} "Owner" = "{noun(rng)}"',
            "        }",
            "    }",
            "",
        ]
    plan = f"Plan: {rng.randint(20, 40)} to add, {rng.randint(1, 9)} to change, 2 to destroy."
    return payload(
        "terraform",
        "\n".join([*lines, plan, ""]),
        [plan, *(line for line in salient if "destroyed" in line), *salient[::12]],
        deep,
    )


def describe(rng: random.Random) -> Payload:
    """`kubectl describe` of several pods, with events."""
    parts, salient, deep = [], [], []
    for at in range(20):
        deep.append(f"containerd://{ident(rng, 24)}")
        parts += [
            f"Name:             {noun(rng)}-{ident(rng, 5)}",
            f"Namespace:        {noun(rng)}",
            f"Node:             ip-10-{rng.randint(1, 255)}/10.0.0.{rng.randint(1, 254)}",
            f"Start Time:       {stamp(rng, at * 5000)}",
            "Labels:           app=core",
            "Containers:",
            f"  {noun(rng)}:",
            f"    Container ID:  {deep[-1]}",
            f"    Image:         registry.example.org/{noun(rng)}:{rng.randint(1, 99)}",
            "    State:         Running",
            "    Limits:",
            f"      memory:  {rng.randint(64, 4096)}Mi",
            "    Environment:",
            *(f"      {snake(rng).upper()}:  {noun(rng)}" for _ in range(9)),
            "Events:",
            "  Type     Reason     Age   From      Message",
            "  ----     ------     ----  ----      -------",
            f"  Normal   Pulled     {rng.randint(1, 60)}m   kubelet   Container image already present on machine",
        ]
        if at in (4, 12, 17):
            salient.append(
                f"Liveness probe failed: HTTP probe failed with statuscode: {rng.randint(500, 599)} ({rng.randint(10**4, 10**5)})"
            )
            parts.append(f"  Warning  Unhealthy  {rng.randint(1, 60)}m   kubelet   {salient[-1]}")
        parts += ["", ""]
    return payload("kubectl describe", "\n".join(parts), salient, deep)


def build(rng: random.Random) -> Payload:
    """`docker build --progress=plain` that fails."""
    lines, deep = [], []
    for step in range(1, 13):
        lines.append(f"#{step} [{step}/12] RUN {noun(rng)} {snake(rng)}")
        for _ in range(34):
            deep.append(f"{noun(rng)}-{ident(rng, 6)}_amd64.deb")
            lines.append(
                f"#{step} {rng.random() * 90:.3f} Get:{rng.randint(1, 99)} http://deb.example.org bookworm/main {deep[-1]} [{rng.randint(2, 900)} kB]"
            )
        lines += [f"#{step} DONE {rng.random() * 20:.1f}s", ""]
    error = f"E: Unable to locate package {noun(rng)}-{rng.randint(10**3, 10**4)}"
    last = f'process "/bin/sh -c apt-get install" did not complete successfully: exit code: {rng.randint(2, 100)}'
    lines[-40] = f"#12 91.220 {error}"
    lines += [f"ERROR: failed to solve: {last}"]
    return payload("docker build", "\n".join(lines), [error, last], deep)


def env_ini(rng: random.Random) -> Payload:
    lines, salient, deep = [], [], []
    for at in range(60):
        salient.append(f"[{noun(rng)}_{at}]")
        lines += [salient[-1]]
        for _ in range(8):
            deep.append(f"{snake(rng)} = {noun(rng)}{rng.randint(10**3, 10**5)}")
            lines.append(deep[-1])
        lines += [f"; {sentence(rng)}", ""]
    return payload("ini", "\n".join(lines), salient, deep)
