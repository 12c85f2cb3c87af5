import {
  getAttribute,
  Mark,
  Marks,
  markWithPaths,
  type Path,
  type PathMarks,
  unmarkDeep,
  unmarkDeepWithPaths,
  Value,
} from "@stackwright/cty";
import type { AttributeSchema, BlockSchema, NestedBlockSchema } from "@stackwright/mux/router";

/** Whether a schema declares anything secret; most do not, and their objects need no walk. */
const SECRETIVE = new WeakMap<BlockSchema, boolean>();

function isSecretive(block: BlockSchema): boolean {
  let known = SECRETIVE.get(block);
  if (known === undefined) {
    known =
      [...block.attributes.values()].some(secretiveAttribute) ||
      [...block.blocks.values()].some((nested) => isSecretive(nested.block));
    SECRETIVE.set(block, known);
  }
  return known;
}

function secretiveAttribute({ sensitive, nested }: AttributeSchema): boolean {
  return sensitive || [...(nested?.attributes.values() ?? [])].some(secretiveAttribute);
}

/** An object from a provider with the marks that its schema, and who else knows better, put on it. */
export function markObject(
  object: Value,
  block: BlockSchema,
  sensitive: readonly Path[] = [],
): Value {
  const marked = isSecretive(block) ? markBlock(object, block) : object;
  if (sensitive.length === 0) return marked;
  return markWithPaths(
    marked,
    sensitive.map((path) => ({ path, marks: SENSITIVE })),
  );
}

const SENSITIVE = Marks.of(Mark.sensitive);

/** A configured value without marks, and where it is secret. Other marks end here. */
export function extractMarks(value: Value): {
  readonly plain: Value;
  readonly sensitive: readonly Path[];
} {
  if (!value.containsMarks) return { plain: value, sensitive: [] };
  const [plain, found] = unmarkDeepWithPaths(value);
  return { plain, sensitive: sensitivePaths(found) };
}

/** What is ephemeral is null in all that is planned and recorded, so that nothing secret is there. */
function sensitivePaths(found: readonly PathMarks[]): readonly Path[] {
  return found
    .filter(({ marks }) => marks.has(Mark.sensitive) && !marks.has(Mark.ephemeral))
    .map(({ path }) => path);
}

function markBlock(object: Value, { attributes, blocks }: BlockSchema): Value {
  if (object.isNull || !object.isKnown || object.type.kind !== "object") return object;
  const members: [string, Value][] = [];
  const [plain, marks] = object.unmark();
  for (const [name, value] of plain.entries()) {
    const attribute = attributes.get(name);
    const block = blocks.get(name);
    if (attribute !== undefined) members.push([name, markAttribute(value, attribute)]);
    else if (block !== undefined) members.push([name, markNested(value, block)]);
    else members.push([name, getAttribute(plain, name)]);
  }
  return Value.object(members).withMarks(marks);
}

function markAttribute(value: Value, { sensitive, nested }: AttributeSchema): Value {
  if (sensitive) return value.mark(Mark.sensitive);
  if (nested === undefined || ![...nested.attributes.values()].some(secretiveAttribute))
    return value;
  const block: BlockSchema = {
    attributes: nested.attributes,
    blocks: new Map(),
    deprecated: false,
    description: "",
  };
  return markElements(value, nested.nesting, block);
}

function markNested(value: Value, { nesting, block }: NestedBlockSchema): Value {
  return isSecretive(block) ? markElements(value, nesting, block) : value;
}

/** Elements of a set cannot carry marks: the whole set gets them. */
function markElements(
  value: Value,
  nesting: NestedBlockSchema["nesting"],
  block: BlockSchema,
): Value {
  const [plain, marks] = value.unmark();
  if (plain.isNull || !plain.isKnown) return value;
  const mark = (element: Value) => markBlock(element, block);
  switch (nesting) {
    case "single":
    case "group":
      return markBlock(value, block);
    case "list": {
      if (plain.size === 0) return value;
      const elements = plain.elements().map(mark);
      return (plain.type.kind === "tuple" ? Value.tuple(elements) : Value.list(elements)).withMarks(
        marks,
      );
    }
    case "set":
      return plain.size === 0 ? value : value.mark(Mark.sensitive);
    case "map": {
      if (plain.size === 0) return value;
      const entries = [...plain.entries()].map(([key, element]) => [key, mark(element)] as const);
      return (plain.type.kind === "object" ? Value.object(entries) : Value.map(entries)).withMarks(
        marks,
      );
    }
    default:
      return nesting satisfies never;
  }
}

/** The value without any marks. */
export function withoutMarks(value: Value): Value {
  return value.containsMarks ? unmarkDeep(value)[0] : value;
}
