"""What provisions machines: a state and a plan of Terraform, a playbook, a layered build, package managers."""

from __future__ import annotations

import random
from typing import Any

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.kinds.records import compact, indented
from tests.bench.quality.words import code, ident, noun, sentence, snake, title


def state(rng: random.Random) -> Payload:
    """A state file: outputs, and a tainted resource among the others."""
    resources: list[dict[str, Any]] = []
    for at in range(56):
        attributes = {
            "arn": f"arn:aws:x:eu-west-1:123:{code(rng, 14)}",
            "id": code(rng, 18),
            "tags": {},
            "tags_all": {"env": "prod"},
            "policy": compact(
                {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole"}]}
            ),
            "description": sentence(rng),
            "timeouts": None,
            "force_destroy": False,
        }
        instance = {
            "schema_version": 0,
            "attributes": attributes,
            "sensitive_attributes": [],
            "private": "bnVsbA==",
            "dependencies": ["aws_vpc.main"],
        }
        resources.append(
            {
                "mode": "managed",
                "type": rng.choice(["aws_s3_bucket", "aws_iam_role", "aws_sqs_queue", "aws_route53_record"]),
                "name": f"{snake(rng)}_{at:02d}",
                "provider": 'provider["registry.terraform.io/hashicorp/aws"]',
                "instances": [instance],
            }
        )
    resources[44]["instances"][0]["status"] = "tainted"
    outputs = {"lb_dns": {"value": "edge-1182.eu-west-1.elb.amazonaws.com", "type": "string"}}
    head = {"version": 4, "terraform_version": "1.9.8", "serial": 311, "lineage": ident(rng, 32), "outputs": outputs}
    text = indented({**head, "resources": resources})
    salient = ["edge-1182.eu-west-1.elb.amazonaws.com", "tainted"]
    return payload(
        "terraform state",
        text,
        leading(text, salient, [str(each["name"]) for each in resources]),
        [each["instances"][0]["attributes"]["id"] for each in resources],
    )


def plan(rng: random.Random) -> Payload:
    """A plan that replaces a database, which nobody may overlook."""
    lines = ["Terraform used the selected providers to generate the following execution plan.", ""]
    deep = []
    counts = {"+": 0, "~": 0}
    for at in range(70):
        kind, name = "aws_security_group_rule", snake(rng) + str(at)
        mark, verb = rng.choice([("+", "will be created"), ("~", "will be updated in-place")])
        if at == 44:
            kind, name, mark, verb = "aws_db_instance", "ledger", "-/+", "must be replaced"
        else:
            counts[mark] += 1
        lines += [f"  # {kind}.{name} {verb}", f'{mark:>3} resource "{kind}" "{name}" {{']
        for key in ("cidr", "description", "id", "protocol", "source"):
            deep.append(code(rng, 14))
            lines.append(f'      + {key:<20} = "{deep[-1]}"')
        lines += ["    }", ""]
    last = f"Plan: {counts['+'] + 1} to add, {counts['~']} to change, 1 to destroy."
    replaced = "# aws_db_instance.ledger must be replaced"
    text = "\n".join([*lines, last, ""])
    names = [line.split()[1] for line in lines if line.startswith("  # aws_security")]
    return payload("plan", text, leading(text, [replaced, last], names), deep)


def playbook(rng: random.Random) -> Payload:
    """Tasks on nine hosts, one failure, the recap."""
    lines, tasks, deep = [], [], []
    broken = "No package matching 'nginx-1.27' found available"
    for at in range(72):
        tasks.append(title(rng))
        lines.append(f"TASK [{tasks[-1]}] ".ljust(90, "*"))
        for host in range(9):
            deep.append(f"[web{host:02d}.prod] => (item={snake(rng)}-{at})")
            lines.append(
                f"{rng.choice(['ok', 'changed', 'skipping'])}: {deep[-1] if host == 4 else f'[web{host:02d}.prod]'}"
            )
        if at == 37:
            lines.append(f'fatal: [web07.prod]: FAILED! => {{"changed": false, "msg": "{broken}"}}')
        lines.append("")
    lines.append("PLAY RECAP ".ljust(90, "*"))
    lines += [
        f"web{host:02d}.prod : ok=41 changed=9 unreachable=0 failed={int(host == 7)} skipped=3" for host in range(9)
    ]
    recap = "web07.prod : ok=41 changed=9 unreachable=0 failed=1"
    text = "\n".join(lines) + "\n"
    return payload(
        "playbook",
        text,
        leading(text, [broken, recap, tasks[37]], tasks),
        deep,
    )


def buildkit(rng: random.Random) -> Payload:
    """A layered build whose lines begin with the number of a step."""
    lines, deep = [], []
    for at in range(420):
        step = at // 14 + 5
        if at % 14 == 0:
            lines.append(f"#{step} [builder {at // 14 + 1}/30] RUN make {snake(rng)}")
            continue
        deep.append(f"lib{noun(rng)}-{code(rng, 6).lower()}")
        said = rng.choice(
            [
                f"Get:{at} http://deb.example.org/debian bookworm/main amd64 {deep[-1]}",
                f"Unpacking {deep[-1]} (1.{at}) ...",
                f"Collecting {deep[-1]}=={at % 9}.{at % 7}.0",
            ]
        )
        lines.append(f"#{step} {at * 0.31:.3f} {said}")
    lines += [
        "#35 130.9 gcc: fatal error: Killed signal terminated program cc1plus",
        '#35 ERROR: process "/bin/sh -c pip install -r requirements.txt" did not complete successfully: exit code: 1',
        "------",
        " > [builder 30/30] RUN pip install -r requirements.txt:",
        'ERROR: failed to solve: process "/bin/sh -c pip install" did not complete successfully',
    ]
    salient = ["gcc: fatal error: Killed signal terminated program cc1plus", "ERROR: failed to solve", lines[-2]]
    text = "\n".join(lines) + "\n"
    steps = [line for line in lines if "] RUN make" in line]
    return payload("layered build", text, leading(text, salient, steps), deep)


def apt(rng: random.Random) -> Payload:
    """Downloads with progress that overwrites itself, and a package that cannot be configured."""
    lines, deep = [], []
    for at in range(280):
        deep.append(f"lib{noun(rng)}{code(rng, 5).lower()}")
        source = "http://deb.example.org/debian bookworm/main amd64"
        lines.append(f"Get:{at} {source} {deep[-1]} amd64 {rng.randint(1, 9)}.{at} [{rng.randint(10, 900)} kB]")
        lines += [f"\r{share}% [Working]" for share in (10, 40)]
    failed = "installed linux-image-6.1 package post-installation script subprocess returned error exit status 1"
    lines += [
        "dpkg: error processing package linux-image-6.1 (--configure):",
        f" {failed}",
        "E: Sub-process /usr/bin/dpkg returned an error code (1)",
    ]
    salient = ["dpkg: error processing package linux-image-6.1", failed, lines[-1]]
    return payload("apt", "\n".join(lines) + "\n", salient, deep)
