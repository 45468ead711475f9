#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""openapi.yaml and vrtd-api(7) against the tables of the code: neither may tell another story.

usage: check-openapi.py PRINT_PROTO OPENAPI_YAML MANUAL
"""
import json
import subprocess
import sys

try:
    import yaml
except ImportError:
    print('skipped: python3-yaml is not installed')
    sys.exit(77)

problems = []


def resolve(document, schema):
    """The schema with references followed and parts put together."""
    while '$ref' in schema:
        schema = document['components']['schemas'][schema['$ref'].rsplit('/', 1)[1]]
    if 'allOf' in schema:
        properties = {}
        for part in schema['allOf']:
            properties.update(resolve(document, part).get('properties', {}))
        schema = {'type': 'object', 'properties': properties}
    if 'oneOf' in schema:
        parts = [resolve(document, part) for part in schema['oneOf']]
        schema = dict(next(p for p in parts if p['type'] != 'null'))
        schema['type'] = [schema['type'], 'null']
    return schema


def compare(document, where, table, schema, request):
    schema = resolve(document, schema)
    properties = schema.get('properties', {})
    if list(properties) != [line['key'] for line in table]:
        problems.append(f'{where}: {list(properties)} is not {[x["key"] for x in table]}')
        return
    required = [line['key'] for line in table if line['required']]
    if request:
        if schema.get('required', []) != required or schema.get('additionalProperties', True):
            problems.append(f'{where}: required or additionalProperties')
    elif required:
        problems.append(f'{where}: {required} are required, but of requests only that is asked')
    for line in table:
        compare_field(document, f'{where}.{line["key"]}', line, properties[line['key']], request)


def compare_field(document, where, line, schema, request):
    schema = resolve(document, schema)
    types = schema['type'] if isinstance(schema['type'], list) else [schema['type']]
    if types[0] != line['type'] or ('null' in types) != line['nullable']:
        problems.append(f'{where}: {types} is not {line["type"]}, nullable {line["nullable"]}')
    for key in ('minimum', 'maximum', 'maxLength') if request else ():
        if schema.get(key) != line.get(key):
            problems.append(f'{where}: {key} {schema.get(key)} is not {line.get(key)}')
    if [w for w in schema.get('enum', []) if w] != line.get('enum', []):
        problems.append(f'{where}: {schema.get("enum")} is not {line.get("enum")}')
    if 'fields' in line:
        inner = schema['items'] if line['type'] == 'array' else schema
        compare(document, where, line['fields'], inner, request)


def main():
    program, path, manual_path = sys.argv[1:]
    tables = json.loads(subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout)
    with open(path, encoding='utf-8') as f:
        document = yaml.safe_load(f)
    with open(manual_path, encoding='utf-8') as f:
        manual = f.read()

    routes = {(method.upper(), path) for path, item in document['paths'].items()
              for method in item if method != 'parameters'}
    if routes != {tuple(r) for r in tables['routes']}:
        problems.append(f'routes: {routes ^ {tuple(r) for r in tables["routes"]}}')
    schemas = document['components']['schemas']
    ids = schemas['Error']['properties']['id']['examples']
    if ids != [e[0] for e in tables['errors']]:
        problems.append('error ids: not those of api.h, in its order')
    for name in tables.keys() - {'routes', 'errors'}:
        compare(document, name, tables[name], schemas[name], name.endswith('Request'))

    for method, route in tables['routes']:
        if f'*{method} {route}*' not in manual:
            problems.append(f'the manual lacks {method} {route}')
    for error, status in tables['errors']:
        if f'|  {error}\n:  {status}\n' not in manual:
            problems.append(f'the manual lacks {error} with status {status}')
    for line in (line for name in tables if name.endswith('Request') for line in tables[name]):
        if f'*{line["key"]}*' not in manual:
            problems.append(f'the manual lacks the field {line["key"]}')
    print('\n'.join(problems) or f'{len(routes)} routes, {len(ids)} errors and every field agree')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
