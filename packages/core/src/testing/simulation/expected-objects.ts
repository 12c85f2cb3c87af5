import type { SimConfig, SimNeed, SimResource } from "./sim-config.ts";

/** An object as a configuration wants it, worked out from the generated resources and not from their text. */
interface ExpectedObject {
  readonly address: string;
  readonly resource: string;
  readonly type: SimResource["type"];
  readonly name: string;
  readonly kind: string;
  readonly size: number;
  /** Addresses of the objects whose ids it holds, in order. */
  readonly links: readonly string[];
  /** Addresses of the resources that it needs itself. */
  readonly needs: ReadonlySet<string>;
}

/** The objects that a configuration wants, by address. */
export function expectedObjects(config: SimConfig): ReadonlyMap<string, ExpectedObject> {
  const resources = new Map(config.map((resource) => [resource.name, resource]));
  const expected = new Map<string, ExpectedObject>();
  for (const resource of config) {
    const { type, name, label = name, kind, size, needs } = resource;
    const address = `${type}.${name}`;
    for (const { key, suffix } of instancesOf(resource)) {
      expected.set(`${address}${key}`, {
        address: `${address}${key}`,
        resource: address,
        type,
        name: `${label}-k${kind}${suffix}`,
        kind: `k${kind}`,
        size,
        links: needs.flatMap((need) => linksOf(need, resources)),
        needs: new Set(needs.flatMap((need) => addressOfNeed(need, resources))),
      });
    }
  }
  return expected;
}

/** Resources with all that they need, themselves included. */
export function withNeeds(config: SimConfig, addresses: Iterable<string>): Set<string> {
  const needs = needsOf(config);
  const reached = new Set<string>();
  const reach = (address: string): void => {
    if (reached.has(address)) return;
    reached.add(address);
    for (const need of needs.get(address) ?? []) reach(need);
  };
  for (const address of addresses) reach(address);
  return reached;
}

/** Resources with all that need them, themselves included. */
export function withDependents(config: SimConfig, addresses: Iterable<string>): Set<string> {
  const wanted = new Set(addresses);
  const all = [...needsOf(config).keys()];
  return new Set([
    ...wanted,
    ...all.filter((address) => [...withNeeds(config, [address])].some((one) => wanted.has(one))),
  ]);
}

function needsOf(config: SimConfig): ReadonlyMap<string, readonly string[]> {
  const resources = new Map(config.map((resource) => [resource.name, resource]));
  return new Map(
    config.map(({ type, name, needs }) => [
      `${type}.${name}`,
      needs.flatMap((need) => addressOfNeed(need, resources)),
    ]),
  );
}

interface Instance {
  readonly key: string;
  readonly suffix: string;
}

function instancesOf({ repeat }: SimResource): readonly Instance[] {
  if (repeat === undefined) return [{ key: "", suffix: "" }];
  if (typeof repeat === "number") {
    return Array.from({ length: repeat }, (_, index) => ({
      key: `[${index}]`,
      suffix: `-${index}`,
    }));
  }
  return repeat.map((key) => ({ key: `[${JSON.stringify(key)}]`, suffix: `-${key}` }));
}

function linksOf({ name, how }: SimNeed, resources: ReadonlyMap<string, SimResource>): string[] {
  const target = resources.get(name);
  if (target === undefined || how === "explicit") return [];
  const all = instancesOf(target).map(({ key }) => `${target.type}.${name}${key}`);
  return how === "all" ? all : all.slice(0, 1);
}

function addressOfNeed({ name }: SimNeed, resources: ReadonlyMap<string, SimResource>): string[] {
  const target = resources.get(name);
  return target === undefined ? [] : [`${target.type}.${name}`];
}
