"""One thing wrapped in another, and shapes of JSON that are no listings: strings, trees, schemas, coordinates."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

from tests.bench.quality.facts import Payload, leading, payload
from tests.bench.quality.kinds.records import compact, indented
from tests.bench.quality.words import ident, noun, paragraph, pascal, person, sentence, snake, title


def text_around_json(rng: random.Random) -> Payload:
    """A tool that speaks: what it found, the data, what to mind, what to do next."""
    customers = [
        {
            "customer": f"{person(rng)} {at:02d}",
            "email": f"{snake(rng)}{at}@example.net",
            "ltv_eur": rng.randint(10, 9999),
            "notes": paragraph(rng, 2),
            "address": {
                "street": title(rng),
                "city": rng.choice(["Graz", "Porto", "Busan"]),
                "zip": str(rng.randint(10**4, 10**5)),
            },
        }
        for at in range(64)
    ]
    found = 'Found 64 matching customers for segment "lapsed-2026"'
    left_out = "3 customers were left out because their consent expired on 2026-10-31"
    following = "call crm_export with segment_id=seg_88120"
    text = f"{found} (page 1 of 4). Results:\n\n```json\n{indented(customers)}\n```\n\nWarning: {left_out}.\nNext step: {following}.\n"
    names = [str(each["customer"]) for each in customers]
    return payload(
        "text around json",
        text,
        leading(text, [found, left_out, following], names),
        [str(each["email"]) for each in customers],
    )


def string(rng: random.Random) -> Payload:
    """A document as one string of JSON."""
    heads, boxes = [], []
    parts = ["# Release checklist\n"]
    for _ in range(50):
        heads.append(title(rng))
        boxes.append(title(rng))
        parts.append(f"\n## {heads[-1]}\n\n{paragraph(rng, 3)}\n\n- [ ] {boxes[-1]}\n- [x] {title(rng)}\n")
    text = json.dumps("".join(parts))
    return payload("string in json", text, leading(text, ["# Release checklist"], heads), boxes)


def markdown_in_json(rng: random.Random) -> Payload:
    """An object, one of whose fields is the answer."""
    heads, sources = [], []
    parts = ["# Search results for rate limiting\n"]
    for at in range(1, 45):
        heads.append(title(rng))
        sources.append(f"https://docs.example.org/{noun(rng)}/{snake(rng)}")
        parts.append(f"\n## {at}. {heads[-1]}\n\nSource: {sources[-1]}\n\n{paragraph(rng, 4)}\n")
    return payload(
        "markdown in json", compact({"query": "rate limiting", "took_ms": 81, "result": "".join(parts)}), heads, sources
    )


def file_in_base64(rng: random.Random) -> Payload:
    """A file as the API of a host gives it: where it is can be read, what is in it cannot."""
    content = base64.encodebytes("\n".join(sentence(rng) for _ in range(260))[:18_000].encode()).decode()
    where = "https://raw.example.org/acme/tools?object=17"
    head = {
        "name": "settle-build",
        "path": "bin/settle-build",
        "sha": ident(rng, 40),
        "size": 18_000,
        "type": "file",
        "encoding": "base64",
    }
    return payload(
        "file in base64",
        compact({**head, "content": content, "download_url": where}),
        ["bin/settle-build", where],
        [str(head["sha"])],
    )


def folders(rng: random.Random) -> Payload:
    """The tree of a directory, every node an object."""
    names: list[str] = []
    files: list[str] = []

    def folder(depth: int) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        for _ in range((7, 4, 2)[depth]):
            name = f"{noun(rng)}_{len(names):03d}"
            names.append(name)
            made.append({"name": name, "type": "directory", "children": folder(depth + 1) if depth < 2 else leaves()})
        return [*made, *leaves()]

    def leaves() -> list[dict[str, Any]]:
        some = [f"{snake(rng)}.{rng.choice(['py', 'ts', 'md'])}" for _ in range(rng.randint(2, 5))]
        files.extend(some)
        return [{"name": name, "type": "file"} for name in some]

    return payload("tree of folders", indented(folder(0)), names, files)


def strings(rng: random.Random) -> Payload:
    """Nothing but sentences: none of them matters more than another."""
    said = [sentence(rng) for _ in range(400)]
    return payload("list of strings", compact(said), [], said)


def introspection(rng: random.Random) -> Payload:
    """The types of a GraphQL API, most of it nulls."""
    types: list[dict[str, Any]] = []
    for at in range(40):
        fields: list[dict[str, Any]] = [
            {
                "name": f"{name}{at}",
                "description": sentence(rng),
                "args": [],
                "type": {
                    "kind": "NON_NULL",
                    "name": None,
                    "ofType": {"kind": "SCALAR", "name": "String", "ofType": None},
                },
                "isDeprecated": False,
                "deprecationReason": None,
            }
            for name in rng.sample(["nodeId", "slug", "createdAt", "owner", "quota", "balance", "region"], 5)
        ]
        types.append(
            {
                "kind": "OBJECT",
                "name": f"{pascal(rng)}{at:02d}",
                "description": sentence(rng),
                "fields": fields,
                "inputFields": None,
                "interfaces": [],
                "enumValues": None,
                "possibleTypes": None,
            }
        )
    text = compact(
        {"data": {"__schema": {"queryType": {"name": "Query"}, "mutationType": {"name": "Mutation"}, "types": types}}}
    )
    deep = [field["description"] for each in types for field in each["fields"][2:3]]
    return payload("introspection", text, [str(each["name"]) for each in types], deep)


def schema(rng: random.Random) -> Payload:
    """A JSON schema: definitions that refer to each other."""
    names = [f"{pascal(rng)}{at:02d}" for at in range(70)]
    deep = []
    definitions: dict[str, Any] = {}
    for name in names:
        choices = [snake(rng).upper() for _ in range(3)]
        deep.append(sentence(rng))
        definitions[name] = {
            "type": "object",
            "additionalProperties": False,
            "required": ["Kind"],
            "properties": {
                "Kind": {"type": "string", "enum": choices},
                noun(rng).capitalize(): {"$ref": f"#/definitions/{rng.choice(names)}"},
                noun(rng).capitalize() + "Id": {
                    "type": "string",
                    "description": deep[-1],
                    "pattern": f"^[a-z]{{{rng.randint(2, 60)}}}$",
                },
            },
        }
    head = {
        "typeName": "Acme::Ledger::Dashboard",
        "additionalProperties": False,
        "createOnlyProperties": ["/properties/AccountId"],
    }
    text = json.dumps({**head, "definitions": definitions}, indent=1)
    return payload("schema", text, leading(text, ["Acme::Ledger::Dashboard"], names), deep)


def places(rng: random.Random) -> Payload:
    """GeoJSON: a few names, thousands of coordinates."""
    features: list[dict[str, Any]] = []
    for _ in range(32):
        ring = [[round(rng.random() * 180, 6), round(rng.random() * 90, 6)] for _ in range(50)]
        features.append(
            {
                "type": "Feature",
                "properties": {"name": title(rng), "pop": rng.randint(100, 10**6)},
                "geometry": {"type": "Polygon", "coordinates": [ring]},
            }
        )
    text = compact({"type": "FeatureCollection", "features": features})
    deep = [str(each["geometry"]["coordinates"][0][30][0]) for each in features]
    return payload("places", text, [each["properties"]["name"] for each in features], deep)
