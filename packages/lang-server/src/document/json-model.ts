import type { Block, BlockLabel, JsonObjectNode, JsonSyntaxNode } from "@stackwright/lang";

/** A body of a file in JSON syntax: which members are arguments, and which are blocks. */
export interface JsonBodyModel {
  readonly attributes: readonly (readonly [name: string, value: JsonSyntaxNode])[];
  readonly blocks: readonly JsonBlockModel[];
}

interface JsonBlockModel {
  readonly type: string;
  readonly labels: readonly string[];
  readonly body: JsonBodyModel;
}

/** What may stand in a body, as far as it is known. */
interface KnownBody {
  readonly arguments: ReadonlyMap<string, unknown>;
  readonly blocks: ReadonlyMap<string, { readonly labels: readonly string[] }>;
}

type BlockHeader = Pick<Block, "type" | "labels">;

/** What may stand in the innermost of nested blocks. */
type KnownBodies = (blocks: readonly BlockHeader[]) => KnownBody | undefined;

/** Bodies in which everything else is an argument. */
const ARGUMENTS_ALONE: ReadonlySet<string> = new Set(["locals", "module", "required_providers"]);

/** Reads a body; undefined where the text alone does not show what a member is, or it has comments. */
export function readJsonBody(
  { members }: JsonObjectNode,
  known: KnownBodies,
  around: readonly BlockHeader[] = [],
): JsonBodyModel | undefined {
  const shape = known(around);
  const attributes: [string, JsonSyntaxNode][] = [];
  const blocks: JsonBlockModel[] = [];
  for (const {
    name: { value: name },
    value,
  } of members) {
    const block = shape?.blocks.get(name);
    if (name === "//" || attributes.some(([other]) => other === name)) return undefined;
    if (block === undefined) {
      const isArgument =
        around.length > 0 &&
        (shape?.arguments.has(name) === true ||
          ARGUMENTS_ALONE.has(around.at(-1)?.type ?? "") ||
          !mayBeBlock(value));
      if (!isArgument) return undefined;
      attributes.push([name, value]);
      continue;
    }
    const read = readBlocks(value, { type: name, labels: [], missing: block.labels.length });
    if (read === undefined) return undefined;
    for (const { labels, body } of read) {
      const own = { type: name, labels: labels.map((label) => ({ value: label }) as BlockLabel) };
      const inner = readJsonBody(body, known, [...around, own]);
      if (inner === undefined) return undefined;
      blocks.push({ type: name, labels, body: inner });
    }
  }
  return { attributes, blocks };
}

/** Without elements, and as null, it may be no block, where an argument would be one too many. */
function mayBeBlock(value: JsonSyntaxNode): boolean {
  if (value.kind === "array") return value.elements.length === 0 || value.elements.some(mayBeBlock);
  return value.kind === "object" || value.kind === "null" || value.kind === "invalid";
}

interface Header {
  readonly type: string;
  readonly labels: readonly string[];
  /** How many labels are below. */
  readonly missing: number;
}

function readBlocks(
  value: JsonSyntaxNode,
  header: Header,
): { readonly labels: readonly string[]; readonly body: JsonObjectNode }[] | undefined {
  if (value.kind === "array") {
    const all = value.elements.map((each) => readBlocks(each, header));
    return all.every((each) => each !== undefined) ? all.flat() : undefined;
  }
  if (value.kind !== "object") return undefined;
  const { labels, missing } = header;
  if (missing === 0) return [{ labels, body: value }];
  const all = value.members.map((member) => {
    const { value: label } = member.name;
    if (label === "//") return undefined;
    return readBlocks(member.value, {
      ...header,
      labels: [...labels, label],
      missing: missing - 1,
    });
  });
  return all.every((each) => each !== undefined) ? all.flat() : undefined;
}

/** A text that is equal for bodies that have the same arguments and blocks, the latter in the same order by type. */
export function modelText({ attributes, blocks }: JsonBodyModel): string {
  const written = attributes.map(([name, value]) => `${JSON.stringify(name)}:${valueText(value)}`);
  const types = [...new Set(blocks.map(({ type }) => type))].toSorted();
  const ofTypes = types.map((type) => {
    const own = blocks.filter((block) => block.type === type);
    const texts = own.map(({ labels, body }) => JSON.stringify(labels) + modelText(body));
    return `${type}[${texts.join(",")}]`;
  });
  return `{${written.toSorted().join(",")};${ofTypes.join(";")}}`;
}

function valueText(value: JsonSyntaxNode): string {
  if (value.kind === "array") return `[${value.elements.map(valueText).join(",")}]`;
  if (value.kind === "object") {
    const members = value.members.map(
      ({ name, value: inner }) => `${JSON.stringify(name.value)}:${valueText(inner)}`,
    );
    return `{${members.join(",")}}`;
  }
  if (value.kind === "string") return JSON.stringify(value.value);
  return value.source.text.slice(value.start, value.end);
}
