"""Clusters and clouds: pods, events, values of a chart, logs of several services, instances, an audit trail, a state."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.kinds.records import compact, indented
from tests.bench.quality.words import code, ident, noun, person, snake, stamp, title, uuid


def pods(rng: random.Random) -> Payload:
    """`kubectl get pods -o json`: one of them does not come up."""
    items: list[dict[str, Any]] = []
    for at in range(20):
        app = rng.choice(["checkout", "ledger", "mailer", "search", "frontdoor"])
        items.append(_pod(rng, app, f"{app}-{ident(rng, 9)}", at))
    broken, reason = items[13], "back-off 5m0s restarting failed container=main"
    broken["status"]["containerStatuses"][0] |= {
        "ready": False,
        "restartCount": 214,
        "state": {
            "waiting": {
                "reason": "CrashLoopBackOff",
                "message": reason,
            }
        },
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
    }
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=4)
    name = str(broken["metadata"]["name"])
    deep = [str(each["metadata"]["uid"]) for each in items[::2]]
    deep += [each["status"]["containerStatuses"][0]["containerID"][13:60] for each in items[1::2]]
    return payload("pods as json", text, ["CrashLoopBackOff", reason, "OOMKilled", name], deep)


def _pod(rng: random.Random, app: str, replica_set: str, at: int) -> dict[str, Any]:
    began = stamp(rng, at * 86_000)
    managed = {
        "manager": "kube-controller-manager",
        "operation": "Update",
        "apiVersion": "v1",
        "time": began,
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:labels": {".": {}, "f:app": {}, "f:pod-template-hash": {}}},
            "f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:image": {}, "f:name": {}, "f:ports": {}}}},
        },
    }
    container = {
        "name": "main",
        "image": f"registry.example.org/{app}:2026.11.{at}",
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "DB_HOST", "value": "pg-0.db.svc"}],
        "resources": {"limits": {"cpu": "500m", "memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
        "imagePullPolicy": "IfNotPresent",
    }
    state = {
        "name": "main",
        "state": {"running": {"startedAt": began}},
        "lastState": {},
        "ready": True,
        "restartCount": rng.randint(0, 2),
        "imageID": f"registry.example.org/{app}@sha256:{ident(rng, 64)}",
        "containerID": f"containerd://{ident(rng, 64)}",
        "started": True,
    }
    conditions = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{replica_set}-{code(rng, 5).lower()}",
            "generateName": f"{replica_set}-",
            "namespace": "prod",
            "uid": uuid(rng),
            "resourceVersion": str(rng.randint(10**7, 10**8)),
            "creationTimestamp": began,
            "labels": {"app": app, "pod-template-hash": replica_set.split("-")[1]},
            "annotations": {"prometheus.io/scrape": "true"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": replica_set, "controller": True}
            ],
            "managedFields": [managed],
        },
        "spec": {
            "volumes": [{"name": f"kube-api-access-{code(rng, 5)}", "projected": {"defaultMode": 420}}],
            "containers": [container],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "nodeName": f"ip-10-0-{rng.randint(1, 9)}-{rng.randint(1, 250)}",
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": each, "status": "True", "lastProbeTime": None, "lastTransitionTime": began}
                for each in conditions
            ],
            "podIP": f"10.42.{at}.9",
            "startTime": began,
            "containerStatuses": [state],
            "qosClass": "Burstable",
        },
    }


def events(rng: random.Random) -> Payload:
    """`kubectl get events`: three warnings among four hundred ordinary ones."""
    warnings = {
        77: ("FailedMount", 'MountVolume.SetUp failed for volume "tls" : secret "edge-tls" not found'),
        201: ("Evicted", "The node was low on resource: ephemeral-storage. Threshold quantity: 4294, available: 211Mi"),
        333: ("FailedScheduling", "0/12 nodes are available: 12 Insufficient nvidia.com/gpu"),
    }
    lines, deep = [f"{'LAST SEEN':<11} {'TYPE':<9} {'REASON':<19} {'OBJECT':<40} MESSAGE"], []
    for at in range(400):
        name = f"pod/{rng.choice(['api', 'web', 'job'])}-{ident(rng, 8)}-{code(rng, 5).lower()}"
        deep.append(name)
        reason, message = rng.choice(
            [
                ("Scheduled", f"Successfully assigned prod to ip-10-0-{at % 9}-{at}"),
                ("Pulled", f'Container image "registry/app:{at}" already present on machine'),
                ("Created", "Created container main"),
                ("Started", "Started container main"),
            ]
        )
        reason, message = warnings.get(at, (reason, message))
        kind = "Warning" if at in warnings else "Normal"
        lines.append(f"{f'{rng.randint(1, 59)}m':<11} {kind:<9} {reason:<19} {name:<40} {message}")
    return payload("cluster events", "\n".join(lines) + "\n", [message for _, message in warnings.values()], deep)


def values(rng: random.Random) -> Payload:
    """The values of a chart: the same few keys under many names."""
    lines, salient, deep = [], [], []
    for at in range(90):
        salient.append(f"{noun(rng)}-{noun(rng)}-{at}:")
        deep.append(f"value: {noun(rng)}-{code(rng, 10)}")
        lines += [
            salient[-1],
            "  enabled: true",
            "  image:",
            f"    repository: registry.example.org/{noun(rng)}",
            f'    tag: "{at}.4.{code(rng, 3)}"',
            "  resources:",
            "    limits:",
            f"      memory: {rng.randint(1, 9) * 128}Mi",
            "  env:",
            f"    - name: {snake(rng).upper()}",
            f"      {deep[-1]}",
        ]
    return payload("chart values", "\n".join(lines) + "\n", salient, deep)


def compose_logs(rng: random.Random) -> Payload:
    """Five services in turn; a crash of one is cut in two by a line of another."""
    lines, deep = [], []
    for at in range(640):
        now = stamp(rng, at * 2)[:19] + "Z"
        deep.append(code(rng, 10))
        service, said = rng.choice(
            [
                ("api-1", f'{now} level=info msg="{title(rng).lower()}" rid={deep[-1]}'),
                ("worker-1", f"[{now}] task {deep[-1]} done in {rng.randint(3, 900)}ms"),
                ("postgres-1", f"{now[:10]} UTC [{rng.randint(50, 90)}] LOG:  checkpoint complete: wrote {at} buffers"),
                ("redis-1", f"1:M 02 Nov * {rng.randint(1, 99)} changes in 300 seconds. Saving..."),
                ("nginx-1", f'172.19.0.1 - - "GET /v1/{deep[-1]} HTTP/1.1" 200 {rng.randint(99, 9999)}'),
            ]
        )
        lines.append(f"{service:<11}| {said}")
        if at == 388:
            lines += [
                "worker-1   | panic: runtime error: index out of range [7] with length 7",
                f'api-1      | {now} level=info msg="heartbeat"',
                "worker-1   | goroutine 88 [running]:",
                "worker-1   | main.(*Settler).apply(0xc0001a2000, 0x7)",
                "worker-1   | \t/src/settle/apply.go:214 +0x1d9",
            ]
        if at == 391:
            lines.append("worker-1 exited with code 2")
        if at == 540:
            lines.append("postgres-1 | FATAL:  remaining connection slots are reserved for roles with SUPERUSER")
    salient = [
        "panic: runtime error: index out of range [7] with length 7",
        "main.(*Settler).apply(0xc0001a2000, 0x7)",
        "/src/settle/apply.go:214",
        "exited with code 2",
        "FATAL:  remaining connection slots are reserved",
    ]
    return payload("compose logs", "\n".join(lines), salient, deep)


def instances(rng: random.Random) -> Payload:
    """`aws ec2 describe-instances`: one is not running."""
    machines: list[dict[str, Any]] = []
    for at in range(30):
        disk = {"AttachTime": stamp(rng, at), "Status": "attached", "VolumeId": f"vol-0{ident(rng, 16)}"}
        network = {"NetworkInterfaceId": f"eni-0{ident(rng, 16)}", "Status": "in-use", "SourceDestCheck": True}
        name = f"{rng.choice(['bastion', 'etl', 'render', 'cache', 'queue'])}-{at:02d}-prod"
        machines.append(
            {
                "AmiLaunchIndex": 0,
                "ImageId": f"ami-0{ident(rng, 16)}",
                "InstanceId": f"i-0{ident(rng, 16)}",
                "InstanceType": rng.choice(["t3.medium", "m6i.large", "c7g.xlarge"]),
                "KeyName": "ops",
                "LaunchTime": stamp(rng, at * 90_000),
                "Monitoring": {"State": "disabled"},
                "Placement": {
                    "AvailabilityZone": f"eu-west-1{rng.choice('abc')}",
                    "GroupName": "",
                    "Tenancy": "default",
                },
                "PrivateIpAddress": f"10.1.{at}.7",
                "PublicDnsName": "",
                "State": {"Code": 16, "Name": "running"},
                "StateTransitionReason": "",
                "SubnetId": f"subnet-0{ident(rng, 16)}",
                "VpcId": "vpc-0aa11bb22cc33dd44",
                "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": disk}],
                "NetworkInterfaces": [network],
                "SecurityGroups": [{"GroupName": "default-web", "GroupId": "sg-0123"}],
                "Tags": [{"Key": "Name", "Value": name}, {"Key": "Owner", "Value": person(rng)}],
            }
        )
    reason = "Server.SpotInstanceTermination (2026-11-02 04:11:09 GMT)"
    machines[21] |= {"State": {"Code": 80, "Name": "stopped"}, "StateTransitionReason": reason}
    body = [{"ReservationId": f"r-0{ident(rng, 16)}", "Groups": [], "Instances": [each]} for each in machines]
    text = json.dumps({"Reservations": body}, indent=4)
    names = [str(each["Tags"][0]["Value"]) for each in machines]
    deep = [each["NetworkInterfaces"][0]["NetworkInterfaceId"] for each in machines]
    return payload("cloud instances", text, leading(text, [reason, "stopped"], names), deep)


def audit_trail(rng: random.Random) -> Payload:
    """Events of an account, each with its record as a string of JSON."""
    made, deep = [], []
    for at in range(60):
        action, service = rng.choice([("DescribeInstances", "ec2"), ("GetObject", "s3"), ("Decrypt", "kms")])
        who = {"type": "AssumedRole", "arn": f"arn:aws:sts::123456789012:assumed-role/ci-runner/{ident(rng, 10)}"}
        record: dict[str, Any] = {
            "eventVersion": "1.09",
            "userIdentity": who,
            "eventTime": stamp(rng, at * 400),
            "eventSource": f"{service}.amazonaws.com",
            "eventName": action,
            "awsRegion": "eu-west-1",
            "sourceIPAddress": f"52.{rng.randint(1, 250)}.{rng.randint(1, 250)}.9",
            "userAgent": "aws-cli/2.15",
            "requestParameters": {"maxResults": 100, "filterSet": {}},
            "responseElements": None,
            "requestID": ident(rng, 32),
            "readOnly": True,
        }
        if at == 38:
            record |= {
                "eventName": "DeleteTrail",
                "userIdentity": {"type": "Root", "arn": "arn:aws:iam::123456789012:root"},
                "errorCode": "AccessDenied",
                "errorMessage": "Trail org-audit cannot be deleted by a member account",
            }
        deep.append(ident(rng, 32))
        made.append(
            {
                "EventId": deep[-1],
                "EventName": record["eventName"],
                "ReadOnly": "true",
                "Username": "ci-runner",
                "EventTime": record["eventTime"],
                "Resources": [],
                "CloudTrailEvent": compact(record),
            }
        )
    salient = [
        "Trail org-audit cannot be deleted by a member account",
        "AccessDenied",
        "arn:aws:iam::123456789012:root",
    ]
    return payload("json in json", indented({"Events": made}), salient, deep)
