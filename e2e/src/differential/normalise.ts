import {
  ExactNumber,
  formatExact,
  isList,
  isObject,
  type Json,
  type JsonObject,
  listOf,
  objectOf,
  textOf,
} from "./exact-json.ts";

const RANDOM_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const ID = "<id>";

/**
 * The random ids of one case; wherever they occur they become `<id>`. What providers make at random besides becomes
 * `<type>`: attributes with one random origin may be equal or not.
 */
export class RandomIds {
  /** Names of random texts. */
  readonly #seen = new Map<string, string>();
  readonly #random: ReadonlyMap<string, readonly string[]>;

  /** @param random attributes that are random, by type */
  constructor(random: ReadonlyMap<string, readonly string[]> = new Map()) {
    this.#random = random;
  }

  /** Learns the ids of a state. */
  learn(state: JsonObject): void {
    for (const { attributes, resource } of instancesOf(state)) {
      const type = textOf(resource.type);
      const key = resource.mode === "data" ? `data.${type}` : type;
      for (const name of this.#random.get(key) ?? []) {
        const value = attributes[name];
        if (typeof value === "string" && value !== "") this.#seen.set(value, `<${type}>`);
      }
      const id = attributes.id;
      if (typeof id === "string" && RANDOM_ID.test(id)) this.#seen.set(id, ID);
    }
  }

  clean<Value extends Json>(value: Value): Value {
    return this.#clean(value) as Value;
  }

  /** The ids that a text holds. */
  within(text: string): string[] {
    return [...this.#seen].flatMap(([id, name]) => (name === ID && text.includes(id) ? [id] : []));
  }

  #cleanText(text: string): string {
    // A text that is a part of another one is replaced after it.
    return [...this.#seen]
      .filter(([value]) => text.includes(value))
      .toSorted(([left], [right]) => right.length - left.length)
      .reduce((rest, [value, name]) => rest.replaceAll(value, name), text);
  }

  #clean(value: Json): Json {
    if (typeof value === "string") return this.#cleanText(value);
    if (isList(value)) return value.map((item) => this.#clean(item));
    if (isObject(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [this.#cleanText(name), this.#clean(member)]),
      );
    }
    return value;
  }
}

/** One instance of a version 4 state. */
interface StateInstance {
  readonly address: string;
  readonly resource: JsonObject;
  readonly instance: JsonObject;
  readonly attributes: JsonObject;
  readonly deposed: boolean;
}

export function instancesOf(state: JsonObject): StateInstance[] {
  return listOf(state.resources)
    .map(objectOf)
    .flatMap((resource) =>
      listOf(resource.instances)
        .map(objectOf)
        .map((instance) => ({
          address: addressOf(resource, instance),
          resource,
          instance,
          attributes: objectOf(instance.attributes),
          deposed: instance.deposed !== undefined,
        })),
    );
}

function addressOf(resource: JsonObject, instance: JsonObject): string {
  const module = textOf(resource.module);
  const data = resource.mode === "data" ? "data." : "";
  const name = `${module === "" ? "" : `${module}.`}${data}${textOf(resource.type)}.${textOf(resource.name)}`;
  const key = instance.index_key;
  if (key instanceof ExactNumber) return `${name}[${key.text}]`;
  if (typeof key !== "string") return name;
  const quoted = JSON.stringify(key).replaceAll("${", "$${").replaceAll("%{", "%%{");
  return `${name}[${quoted}]`;
}

/** What is true in a mask of unknown or sensitive parts; undefined where nothing is. */
export function pruneMask(mask: Json | undefined): Json | undefined {
  if (mask === true) return true;
  if (isList(mask)) {
    const kept = mask.map(pruneMask);
    return kept.some((item) => item !== undefined) ? kept.map((item) => item ?? false) : undefined;
  }
  if (isObject(mask)) {
    const kept = Object.keys(mask)
      .toSorted()
      .flatMap((name): [string, Json][] => {
        const member = pruneMask(mask[name]);
        return member === undefined ? [] : [[name, member]];
      });
    return kept.length === 0 ? undefined : Object.fromEntries(kept);
  }
  return undefined;
}

/** The strings in a value with the paths that lead to them. */
export function* stringsIn(
  value: Json,
  path = "",
): Generator<readonly [path: string, text: string]> {
  if (typeof value === "string") yield [path, value];
  else if (isList(value)) {
    for (const [index, item] of value.entries()) yield* stringsIn(item, `${path}[${index}]`);
  } else if (isObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      yield* stringsIn(member, path === "" ? name : `${path}.${name}`);
    }
  }
}

/** Problems in the form of a recording: sorted, with place and address where they have one. */
export function problemRows(problems: readonly Json[], ids: RandomIds): JsonObject[] {
  const unique = new Map(problems.map((problem) => [formatExact(problem), objectOf(problem)]));
  return [...unique.values()]
    .map((problem): JsonObject => {
      const range = objectOf(problem.range);
      const summary = textOf(problem.summary);
      return ids.clean({
        severity: problem.severity ?? null,
        summary: summary.startsWith("Cycle: ")
          ? `Cycle: ${summary.slice("Cycle: ".length).split(", ").toSorted().join(", ")}`
          : summary,
        ...(textOf(problem.address) !== "" && { address: problem.address ?? null }),
        ...(range.filename !== undefined && {
          file: range.filename,
          line: objectOf(range.start).line ?? null,
        }),
        detail: sortBullets(textOf(problem.detail)),
      });
    })
    .toSorted(byText);
}

/** Lists of `- address` lines come in random order. */
function sortBullets(text: string): string {
  const out: string[] = [];
  let bullets: string[] = [];
  for (const line of text.split("\n")) {
    if (line.trimStart().startsWith("- ")) bullets.push(line);
    else {
      out.push(...bullets.toSorted(), line);
      bullets = [];
    }
  }
  return [...out, ...bullets.toSorted()].join("\n");
}

export function byText(left: Json, right: Json): number {
  const one = formatExact(left);
  const other = formatExact(right);
  return one < other ? -1 : Number(one > other);
}
