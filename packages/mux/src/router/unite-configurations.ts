import { Value } from "@stackwright/cty";
import type { ProviderDiagnostic } from "./diagnostic.ts";
import { differenceOfBlocks } from "./equal-blocks.ts";
import type { AttributeSchema, BlockSchema } from "./schema.ts";
import { typeOfBlock } from "./type-of-block.ts";

/** The configuration that one part of a combined provider takes. */
interface NamedConfiguration {
  readonly name: string;
  readonly block: BlockSchema;
}

/** One configuration made of several, and what cannot be put together. */
interface UnitedConfigurations {
  readonly block: BlockSchema;
  readonly diagnostics: readonly ProviderDiagnostic[];
}

/**
 * One configuration with the arguments of all. An argument that several have must mean the same for each of them; it is required
 * where one requires it, and sensitive where one says so.
 */
export function uniteConfigurations(members: readonly NamedConfiguration[]): UnitedConfigurations {
  const attributes = new Map<string, AttributeSchema>();
  const blocks = new Map<
    string,
    BlockSchema["blocks"] extends ReadonlyMap<string, infer B> ? B : never
  >();
  const owners = new Map<string, string>();
  const diagnostics: ProviderDiagnostic[] = [];
  const alone = (part: "attributes" | "blocks", name: string, entry: unknown): BlockSchema => ({
    attributes: new Map(),
    blocks: new Map(),
    deprecated: false,
    description: "",
    [part]: new Map([[name, entry]]),
  });
  const differ = (name: string, member: string, difference: string | undefined): void => {
    if (difference === undefined) return;
    diagnostics.push({
      severity: "error",
      summary: "Invalid Provider Server Combination",
      detail: `The argument ${name} of the configuration must mean the same for ${owners.get(name)} and ${member}; they differ in ${difference}.`,
    });
  };
  for (const { name: member, block } of members) {
    for (const [name, attribute] of block.attributes) {
      const known = attributes.get(name);
      if (blocks.has(name)) differ(name, member, "their kinds (block and attribute)");
      else if (known === undefined) {
        attributes.set(name, attribute);
        owners.set(name, member);
      } else {
        const same = { ...attribute, ...pick(known) };
        differ(
          name,
          member,
          differenceOfBlocks(alone("attributes", name, known), alone("attributes", name, same)),
        );
        attributes.set(name, stricter(known, attribute));
      }
    }
    for (const [name, nested] of block.blocks) {
      const known = blocks.get(name);
      if (attributes.has(name)) differ(name, member, "their kinds (attribute and block)");
      else if (known === undefined) {
        blocks.set(name, nested);
        owners.set(name, member);
      } else {
        const left = alone("blocks", name, known);
        differ(name, member, differenceOfBlocks(left, alone("blocks", name, nested)));
      }
    }
  }
  const description =
    members.find(({ block }) => block.description !== "")?.block.description ?? "";
  return { block: { attributes, blocks, deprecated: false, description }, diagnostics };
}

/** What of a united configuration is for the part that has this schema. */
export function ownConfiguration(config: Value, block: BlockSchema): Value {
  const type = typeOfBlock(block);
  if (!config.isKnown) return Value.unknown(type);
  if (config.isNull) return Value.null(type);
  return Value.object(
    [...config.entries()].filter(([name]) => block.attributes.has(name) || block.blocks.has(name)),
  );
}

type Presence = Pick<
  AttributeSchema,
  "required" | "optional" | "computed" | "sensitive" | "writeOnly"
>;

/** What may differ: whether a value is needed, and who may see it. */
function pick({ required, optional, computed, sensitive, writeOnly }: AttributeSchema): Presence {
  return { required, optional, computed, sensitive, writeOnly };
}

function stricter(left: AttributeSchema, right: AttributeSchema): AttributeSchema {
  const required = left.required || right.required;
  return {
    ...left,
    required,
    optional: !required && (left.optional || right.optional),
    computed: !required && left.computed && right.computed,
    sensitive: left.sensitive || right.sensitive,
    writeOnly: left.writeOnly || right.writeOnly,
  };
}
