# SPDX-License-Identifier: Apache-2.0
"""A judge of OTG (Open Traffic Generator) that is not ours: the published model, openapi.yaml, by python3-jsonschema. It is no part of the
project: XR_OTG_SCHEMA names its folder, or it is ../shared/otg beside the checkout. `model()` ends a test with 77 where it is absent."""
import os
import pathlib
import sys

SKIP = 77
NOT_SCHEMA = ("x-enum", "x-field-uid", "x-constraint", "x-status", "x-pattern", "example", "description")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(SKIP)


def folder(where=None):
    return pathlib.Path(os.environ.get("XR_OTG_SCHEMA") or where or ROOT.parent / "shared" / "otg")


def as_json_schema(node):
    """OpenAPI's words as a JSON schema's: 64-bit integers may be strings, as in protobuf's JSON; unknown keys are errors."""
    if isinstance(node, list):
        return [as_json_schema(each) for each in node]
    if not isinstance(node, dict):
        return node
    node = {key: as_json_schema(value) for key, value in node.items() if key not in NOT_SCHEMA}
    if node.get("type") == "integer" and node.get("format") in ("uint64", "int64"):
        node["type"] = ["integer", "string"]
    if node.get("type") == "object" and "properties" in node:
        node["additionalProperties"] = False
    return node


class Model:
    def __init__(self, document):
        import jsonschema
        self.jsonschema = jsonschema
        self.paths = document["paths"]
        self.responses = document["components"]["responses"]
        self.schemas = document["components"]["schemas"]
        self.root = {"components": {"schemas": as_json_schema(self.schemas)}}
        self.validators = {}

    def errors(self, name, value):
        """What of the value contradicts the schema of that name: a sentence each."""
        if name not in self.validators:
            self.validators[name] = self.jsonschema.Draft202012Validator({**self.root, "$ref": f"#/components/schemas/{name}"})
        return ["{}: {}".format("/".join(map(str, error.absolute_path)), error.message[:160]) for error in self.validators[name].iter_errors(value)]

    def operation(self, method, path):
        return self.paths.get(path, {}).get(method.lower())

    def of_request(self, method, path):
        """The name of the body's schema, None where the operation has no body."""
        body = (self.operation(method, path) or {}).get("requestBody")
        return body and body["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[-1]

    def of_answer(self, method, path, status):
        """The type of the answer's body, and the name of its schema (None: bytes). Of no operation: an Error."""
        operation = self.operation(method, path)
        response = operation["responses"].get(str(status), operation["responses"]["default"]) if operation else self.responses["Failure"]
        if "$ref" in response:
            response = self.responses[response["$ref"].rsplit("/", 1)[-1]]
        (kind, content), = response["content"].items()
        return kind, content["schema"].get("$ref", "").rsplit("/", 1)[-1] or None


def verdict(summary, faults):
    """The exit status of a program that judged."""
    print(summary)
    print("\n".join(faults))
    return bool(faults)


def document(where=None):
    """openapi.yaml, of `where` unless XR_OTG_SCHEMA names another folder."""
    try:
        import jsonschema  # noqa: F401
        import yaml
    except ImportError as error:
        skip(f"needs python3-jsonschema and python3-yaml: {error}")
    path = folder(where) / "openapi.yaml"
    if not path.exists():
        skip(f"needs OTG's published model: {path} is not there, XR_OTG_SCHEMA names another folder")
    with open(path, encoding="utf-8") as file:
        return yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def model():
    return Model(document())
