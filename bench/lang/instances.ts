import { Type, Value } from "@stackwright/cty";
import {
  bindBody,
  buildGraph,
  consoleScope,
  createModuleScope,
  EMPTY_BUNDLE,
  evaluateBody,
  expandRepetition,
  loadModuleTree,
  type ModuleNode,
  type ModuleScope,
  RESOURCE_META,
  resolveProviders,
} from "@stackwright/lang";
import type { AttributeSchema, BlockSchema } from "@stackwright/mux/router";
import { type Measured, measure, milliseconds } from "./measure.ts";

/*
 * Instances that refer to other instances. What one costs must not grow with their number: a
 * reference with a key asks for one instance only.
 */

const SERVERS = `
variable "servers" {}
locals {
  prefix = "web"
  tags   = { team = "a", stage = "test" }
}
resource "cloud_server" "a" {
  for_each = var.servers
}
resource "cloud_disk" "b" {
  for_each = var.servers
  name     = "\${local.prefix}-\${each.key}"
  server   = cloud_server.a[each.key].id
  zone     = cloud_server.a[each.key].zone
  size     = each.value.size + 10
  type     = each.value.size > 20 ? "large" : "small"
  tags     = merge(local.tags, { Name = each.key })
  label    = upper(each.key)
  count_of = length(each.value.ports)
  ports    = [for p in each.value.ports : p + 1]
  note     = format("%s in %s", each.key, cloud_server.a[each.key].zone)
  dynamic "rule" {
    for_each = each.value.ports
    content {
      port = rule.value
    }
  }
}
`;

function attribute(type: Type): AttributeSchema {
  const flags = { required: false, computed: false, sensitive: false, writeOnly: false };
  return { type, optional: true, deprecated: false, description: "", ...flags };
}

function block(attributes: Record<string, Type>, blocks: BlockSchema["blocks"]): BlockSchema {
  return {
    attributes: new Map(Object.entries(attributes).map(([name, type]) => [name, attribute(type)])),
    blocks,
    deprecated: false,
    description: "",
  };
}

const RULE = block({ port: Type.number }, new Map());
const DISK: BlockSchema = block(
  {
    name: Type.string,
    server: Type.string,
    zone: Type.string,
    size: Type.number,
    type: Type.string,
    tags: Type.map(Type.string),
    label: Type.string,
    count_of: Type.number,
    ports: Type.list(Type.number),
    note: Type.string,
  },
  new Map([["rule", { nesting: "list", block: RULE, minItems: 0, maxItems: 0 }]]),
);

async function load(text: string): Promise<ModuleNode> {
  const bytes = new TextEncoder().encode(text);
  const files = { ...EMPTY_BUNDLE, names: () => ["main.tf"], read: () => bytes };
  const { root, diagnostics } = await loadModuleTree(files);
  if (diagnostics.length > 0) throw new Error(diagnostics[0]?.detail);
  return root;
}

function key(at: number): string {
  return `server-${String(at).padStart(6, "0")}`;
}

function scopeOf(root: ModuleNode, count: number): ModuleScope {
  const entries = Array.from({ length: count }, (_, at) => {
    const ports = [80, 443].map((port) => Value.number(port + at));
    return [
      key(at),
      Value.object({ size: Value.number(at % 50), ports: Value.list(ports) }),
    ] as const;
  });
  const servers = new Map(
    Array.from({ length: count }, (_, at) => [
      key(at),
      Value.object({ id: Value.string(`i-${at}`), zone: Value.string(`z-${at % 3}`) }),
    ]),
  );
  let whole: Value | undefined;
  const values = {
    variables: new Map([["servers", Value.map(entries)]]),
    resource: (subject: { readonly key: string | number | undefined }) =>
      typeof subject.key === "string"
        ? servers.get(subject.key)
        : (whole ??= Value.object(servers)),
    module: () => undefined,
    folder: ".",
    workspace: "default",
  };
  return createModuleScope(root.config, values, consoleScope().functions);
}

/** Expands and evaluates all instances of the second resource. */
function evaluateAll(root: ModuleNode, scope: ModuleScope): Value[] {
  const resource = root.config.resources.get("cloud_disk.b");
  if (resource === undefined) throw new Error("no resource");
  const expansion = expandRepetition(resource, scope, []);
  if (expansion.kind !== "for_each") throw new Error(expansion.kind);
  const { body } = bindBody(resource.body, DISK, { meta: RESOURCE_META });
  return [...expansion.entries].map(([name, value]) => {
    const each = { key: Value.string(name), value };
    const { value: result, diagnostics } = evaluateBody(body, scope.forInstance({ each }));
    if (diagnostics.length > 0) throw new Error(diagnostics[0]?.detail);
    return result;
  });
}

function heapBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

/** Ten attributes and two blocks each, with three references to an instance of another resource. */
export async function instances(): Promise<void> {
  const root = await load(SERVERS);
  for (let warm = 0; warm < 3; warm++) evaluateAll(root, scopeOf(root, 1_000));
  let base: Measured | undefined;
  const rows = [];
  for (const count of [1_000, 10_000]) {
    const scope = scopeOf(root, count);
    const measured = measure(() => evaluateAll(root, scope), 7);
    base ??= measured;
    const before = heapBytes();
    const kept = evaluateAll(root, scope);
    const bytes = (heapBytes() - before) / kept.length;
    rows.push({
      instances: count,
      "ms (best / median)": milliseconds(measured),
      "us per instance": ((measured.best * 1000) / count).toFixed(1),
      "per instance, to 1,000": (measured.best / count / (base.best / 1_000)).toFixed(2),
      "bytes kept per instance": Math.round(bytes),
    });
  }
  console.log("Instances that refer to instances");
  console.table(rows);
}

/** As many resource blocks, each of which refers to its neighbour and to a local. */
export async function graphs(): Promise<void> {
  const rows = [];
  let base: number | undefined;
  for (const count of [1_000, 10_000, 40_000]) {
    const blocks = Array.from({ length: count }, (_, at) => {
      const next = at === 0 ? "local.l" : `cloud_disk.d${at - 1}.id`;
      return `resource "cloud_disk" "d${at}" {\n  name = ${next}\n  size = local.l\n}\n`;
    });
    // One size after the other, so that they do not disturb each other.
    // oxlint-disable-next-line no-await-in-loop
    const root = await load(`locals { l = 1 }\n${blocks.join("")}`);
    const measured = measure(() => buildGraph(root, resolveProviders(root)), 7);
    base ??= measured.best / count;
    rows.push({
      resources: count,
      "ms (best / median)": milliseconds(measured),
      "us per resource": ((measured.best * 1000) / count).toFixed(1),
      "per resource, to 1,000": (measured.best / count / base).toFixed(2),
    });
  }
  console.log("Providers, graph and order");
  console.table(rows);
}
