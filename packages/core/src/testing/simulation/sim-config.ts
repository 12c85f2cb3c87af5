import { MODEL_SOURCE } from "../model/model-schema.ts";
import type { Chance } from "./chance.ts";

/** What must never be seen in the clear. */
export const CANARY = "canary-5f0e9c41";

/** A resource of a generated configuration. */
export interface SimResource {
  readonly name: string;
  /** What its objects are called, where the resource was called otherwise before. @default its name */
  readonly label?: string;
  readonly type: "model_thing" | "model_named";
  readonly size: number;
  /** Another number needs another object. */
  readonly kind: number;
  readonly createFirst: boolean;
  /** Instances: one, so many, or one for each key. */
  readonly repeat: undefined | number | readonly string[];
  /** Its number is known only when this attribute of a resource that it needs is. @default it is known */
  readonly countBy?: { readonly name: string; readonly attribute: "id" | "serial" };
  readonly secret: boolean;
  readonly needs: readonly SimNeed[];
  /** The lease whose token it is told, and how often that has changed. */
  readonly token?: { readonly lease: string; readonly version: number };
}

/** An ephemeral resource. */
export interface SimLease {
  readonly name: string;
  readonly renews: boolean;
  /** A resource whose ids it is made from, or another lease. */
  readonly of?: string;
  readonly from?: string;
}

/** How a resource uses one that is written before it. */
export interface SimNeed {
  readonly name: string;
  /** The id of one instance, those of all, or only the order. */
  readonly how: "first" | "all" | "explicit";
}

/** A resource that got another name: where its objects were, and where they are now. */
export interface SimMove {
  readonly from: string;
  readonly to: string;
}

/** Resources, each of which depends on earlier ones only. */
export type SimConfig = readonly SimResource[];

/** A random valid configuration. */
export function randomConfig(chance: Chance): SimConfig {
  const config: SimResource[] = [];
  const count = 1 + chance.below(5);
  for (let index = 0; index < count; index += 1)
    config.push(randomResource(chance, `r${index}`, config));
  return config;
}

/** A random change of a configuration: some resources go, come, change, or depend on others. */
export function mutateConfig(chance: Chance, config: SimConfig): SimConfig {
  const next: SimResource[] = [];
  const drawn = `n${chance.below(1000)}`;
  const fresh = config.some(({ name }) => name === drawn) ? `${drawn}x` : drawn;
  const place = chance.below(config.length + 1);
  for (const [index, resource] of config.entries()) {
    if (index === place && chance.maybe(0.4)) next.push(randomResource(chance, fresh, next));
    if (chance.maybe(0.15)) continue;
    next.push(mutateResource(chance, resource, next));
  }
  if (next.length === 0) next.push(randomResource(chance, fresh, next));
  return next;
}

function randomResource(chance: Chance, name: string, before: SimConfig): SimResource {
  const repeats = [
    undefined,
    undefined,
    undefined,
    chance.below(3),
    ["a", "b"],
    ["b", "c"],
  ] as const;
  return {
    name,
    type: chance.maybe(0.5) ? "model_thing" : "model_named",
    size: chance.below(3),
    kind: chance.below(2),
    createFirst: chance.maybe(0.3),
    repeat: chance.pick(repeats),
    secret: chance.maybe(0.3),
    needs: randomNeeds(chance, before),
  };
}

function randomNeeds(chance: Chance, before: SimConfig): readonly SimNeed[] {
  return before.flatMap(({ name, repeat }): SimNeed[] => {
    if (!chance.maybe(0.4)) return [];
    const how = chance.pick(["first", "first", "all", "explicit"] as const);
    return [{ name, how: repeat === 0 && how === "first" ? "all" : how }];
  });
}

function mutateResource(chance: Chance, resource: SimResource, before: SimConfig): SimResource {
  // What it needs may have gone, or may have no instance any more.
  const needs = resource.needs.flatMap((need): SimNeed[] => {
    const target = before.find(({ name }) => name === need.name);
    if (target === undefined) return [];
    return [target.repeat === 0 && need.how === "first" ? { ...need, how: "all" } : need];
  });
  const kept = { ...resource, needs };
  switch (chance.below(9)) {
    case 0:
      return { ...kept, size: chance.below(4) };
    case 1:
      return { ...kept, kind: resource.kind + 1 };
    case 2:
      return { ...kept, createFirst: !resource.createFirst };
    case 3:
      return { ...kept, needs: randomNeeds(chance, before) };
    case 4:
      return { ...kept, kind: resource.kind + 1, needs: randomNeeds(chance, before) };
    case 5:
      return typeof resource.repeat === "number" ? { ...kept, repeat: chance.below(3) } : kept;
    default:
      return kept;
  }
}

/** The configuration as text. */
export function configText(
  config: SimConfig,
  leases: readonly SimLease[] = [],
  moves: readonly SimMove[] = [],
): string {
  const head = `terraform {
  required_providers {
    model = { source = "${MODEL_SOURCE}" }
  }
}
variable "canary" {
  type      = string
  sensitive = true
}
`;
  const outputs = config.map(({ name, type, secret, repeat }) => {
    if (repeat !== undefined) return "";
    return `output "${name}" {
  value     = ${type}.${name}.${secret ? "secret" : "size"}
  sensitive = ${secret}
}
`;
  });
  return (
    head +
    leases.map((lease) => leaseText(lease, config)).join("") +
    config.map((resource) => resourceText(resource, config)).join("") +
    outputs.join("") +
    moves.map(({ from, to }) => `moved {\n  from = ${from}\n  to   = ${to}\n}\n`).join("")
  );
}

function leaseText({ name, renews, of, from }: SimLease, config: SimConfig): string {
  const lines = [`name = "${name}"`, `renews = ${renews}`];
  const target = config.find((resource) => resource.name === of);
  const address = target && `${target.type}.${target.name}`;
  if (target?.repeat !== undefined)
    lines.push(`note = join(",", [for one in ${address} : one.id])`);
  else if (target !== undefined) lines.push(`note = ${address}.id`);
  else if (from !== undefined) lines.push(`note = ${tokenOf(from)}`);
  return `ephemeral "model_lease" "${name}" {\n${lines.map((line) => `  ${line}\n`).join("")}}\n`;
}

const tokenOf = (lease: string): string => `ephemeral.model_lease.${lease}.token`;

function resourceText(resource: SimResource, config: SimConfig): string {
  const { name, label = name, type, repeat } = resource;
  const lines: string[] = [];
  let suffix = "";
  if (typeof repeat === "number") {
    lines.push(`count = ${countText(resource, config) ?? repeat}`);
    suffix = "-${count.index}";
  } else if (repeat !== undefined) {
    lines.push(`for_each = toset(${JSON.stringify(repeat)})`);
    suffix = "-${each.key}";
  }
  // A name cannot be taken twice, so what replaces an object has another one.
  lines.push(`name = "${label}-k${resource.kind}${suffix}"`);
  lines.push(`kind = "k${resource.kind}"`, `size = ${resource.size}`);
  if (resource.secret) lines.push("secret = var.canary");
  if (resource.token !== undefined) {
    const { lease, version } = resource.token;
    lines.push(`token_wo = ${tokenOf(lease)}`, `token_version = ${version}`);
  }
  const links: string[] = [];
  const explicit: string[] = [];
  for (const need of resource.needs) {
    const target = config.find((other) => other.name === need.name);
    if (target === undefined) continue;
    const address = `${target.type}.${target.name}`;
    if (need.how === "explicit") explicit.push(address);
    else links.push(linkText(address, target, need.how));
  }
  if (links.length > 0) lines.push(`links = concat(${links.join(", ")})`);
  if (explicit.length > 0) lines.push(`depends_on = [${explicit.join(", ")}]`);
  if (resource.createFirst) lines.push("lifecycle {", "  create_before_destroy = true", "}");
  return `resource "${type}" "${name}" {\n${lines.map((line) => `  ${line}\n`).join("")}}\n`;
}

/** The same number, by way of a value that an apply gives. */
function countText({ countBy, repeat }: SimResource, config: SimConfig): string | undefined {
  const target = config.find(({ name }) => name === countBy?.name);
  if (countBy === undefined || target === undefined) return undefined;
  const test = countBy.attribute === "id" ? 'id == ""' : "serial < 0";
  return `${target.type}.${target.name}.${test} ? 0 : ${String(repeat)}`;
}

function linkText(address: string, { repeat }: SimResource, how: "first" | "all"): string {
  if (repeat === undefined) return `[${address}.id]`;
  if (how === "all") return `[for one in ${address} : one.id]`;
  return `[${address}[${typeof repeat === "number" ? "0" : JSON.stringify(repeat[0])}].id]`;
}
