import { typeExpression } from "@stackwright/cty";
import type {
  AttributeSchema,
  BlockSchema,
  FunctionSchema,
  NestedBlockSchema,
  ProviderSchema,
  ResourceSchema,
} from "./schema.ts";

/** What a change is of: the configuration of the provider, or a type or function of it. */
type ChangedPart = "provider" | "resource" | "data" | "ephemeral" | "function";

/** One way in which the schema of a provider differs from an earlier one. */
export interface SchemaChange {
  readonly of: ChangedPart;
  /** Of the type or the function; empty for the configuration of the provider. */
  readonly name: string;
  /** Dotted names from there to an attribute or a block; empty for the whole. */
  readonly path: string;
  readonly change:
    | "added"
    | "removed"
    | "type"
    | "mode"
    | "sensitive"
    | "write-only"
    | "deprecated"
    | "nesting"
    | "items"
    | "version"
    | "signature";
  /** How it was; empty where there was nothing. */
  readonly before: string;
  readonly after: string;
  /** A configuration that was right may be refused, or mean something else. */
  readonly breaks: boolean;
}

type Found = Omit<SchemaChange, "of" | "name">;

/**
 * How the schema of a provider differs from an earlier one, by names, with what may break a configuration that was written for the earlier
 * one. Descriptions do not count.
 */
export function changesOfSchemas(
  before: ProviderSchema,
  after: ProviderSchema,
): readonly SchemaChange[] {
  const changes: SchemaChange[] = [];
  const ofProvider = changesOfBlocks(before.provider, after.provider, "");
  changes.push(...ofProvider.map((one): SchemaChange => ({ of: "provider", name: "", ...one })));
  const add = <T>(
    of: ChangedPart,
    left: ReadonlyMap<string, T>,
    right: ReadonlyMap<string, T>,
    compare: (a: T, b: T) => readonly Found[],
  ): void => {
    for (const name of namesOf(left, right)) {
      const found = changesOfNamed(left.get(name), right.get(name), compare);
      changes.push(...found.map((one): SchemaChange => ({ of, name, ...one })));
    }
  };
  add("resource", before.resources, after.resources, changesOfResources);
  add("data", before.dataSources, after.dataSources, changesOfResources);
  add("ephemeral", before.ephemeralResources, after.ephemeralResources, changesOfResources);
  add("function", before.functions, after.functions, changesOfFunctions);
  return changes;
}

/** Names of both, in one order. */
function namesOf<T>(
  left: ReadonlyMap<string, T>,
  right: ReadonlyMap<string, T>,
): readonly string[] {
  return [...new Set([...left.keys(), ...right.keys()])].toSorted();
}

function changesOfNamed<T>(
  before: T | undefined,
  after: T | undefined,
  compare: (a: T, b: T) => readonly Found[],
): readonly Found[] {
  if (before === undefined) return [found("", "added", "", "", false)];
  if (after === undefined) return [found("", "removed", "", "", true)];
  return compare(before, after);
}

function changesOfResources(before: ResourceSchema, after: ResourceSchema): readonly Found[] {
  const [was, is] = [before.version, after.version];
  return [
    // Stored objects are upgraded on the way up, and cannot be read on the way down.
    ...(was === is ? [] : [found("", "version", String(was), String(is), is < was)]),
    ...changesOfBlocks(before.block, after.block, ""),
  ];
}

function changesOfBlocks(before: BlockSchema, after: BlockSchema, at: string): readonly Found[] {
  return [
    ...changeOfDeprecation(before, after, at),
    ...changesOfAttributes(before.attributes, after.attributes, at),
    ...namesOf(before.blocks, after.blocks).flatMap((name) =>
      changesOfNestedBlocks(before.blocks.get(name), after.blocks.get(name), joined(at, name)),
    ),
  ];
}

function changesOfNestedBlocks(
  before: NestedBlockSchema | undefined,
  after: NestedBlockSchema | undefined,
  at: string,
): readonly Found[] {
  if (before === undefined) {
    const isNeeded = after !== undefined && after.minItems > 0;
    return [found(at, "added", "", after === undefined ? "" : blockText(after), isNeeded)];
  }
  if (after === undefined) return [found(at, "removed", blockText(before), "", true)];
  const isFewer =
    after.maxItems !== 0 && (before.maxItems === 0 || after.maxItems < before.maxItems);
  const [was, is] = [itemsText(before), itemsText(after)];
  return [
    ...(before.nesting === after.nesting
      ? []
      : [found(at, "nesting", before.nesting, after.nesting, true)]),
    ...(was === is
      ? []
      : [found(at, "items", was, is, isFewer || after.minItems > before.minItems)]),
    ...changesOfBlocks(before.block, after.block, at),
  ];
}

function changesOfAttributes(
  before: ReadonlyMap<string, AttributeSchema>,
  after: ReadonlyMap<string, AttributeSchema>,
  at: string,
): readonly Found[] {
  return namesOf(before, after).flatMap((name) => {
    const [was, is] = [before.get(name), after.get(name)];
    const path = joined(at, name);
    if (was === undefined) {
      return [found(path, "added", "", is === undefined ? "" : attributeText(is), is?.required)];
    }
    if (is === undefined) return [found(path, "removed", attributeText(was), "", true)];
    return changesOfAttribute(was, is, path);
  });
}

function changesOfAttribute(
  before: AttributeSchema,
  after: AttributeSchema,
  at: string,
): readonly Found[] {
  const [was, is] = [modeOf(before), modeOf(after)];
  return [
    ...changesOfTypes(before, after, at),
    ...(was === is ? [] : [found(at, "mode", was, is, isNarrower(before, after))]),
    // Outputs that show a sensitive value have to say so, and a value that is never stored cannot be read.
    ...changeOfFlag(before.sensitive, after.sensitive, { at, change: "sensitive", breaks: true }),
    ...changeOfFlag(before.writeOnly, after.writeOnly, { at, change: "write-only", breaks: true }),
    ...changeOfDeprecation(before, after, at),
  ];
}

/** Attributes of attributes are compared by name, so that one of them does not make the type of all another one. */
function changesOfTypes(
  before: AttributeSchema,
  after: AttributeSchema,
  at: string,
): readonly Found[] {
  const { nested: was } = before;
  const { nested: is } = after;
  if (was !== undefined && is !== undefined && was.nesting === is.nesting) {
    return changesOfAttributes(was.attributes, is.attributes, at);
  }
  if (before.type.equals(after.type)) return [];
  return [found(at, "type", typeExpression(before.type), typeExpression(after.type), true)];
}

/** Whether what could be written may not be any more, or what could be read may be null. */
function isNarrower(before: AttributeSchema, after: AttributeSchema): boolean {
  const couldBeWritten = before.required || before.optional;
  const canBeWritten = after.required || after.optional;
  return (
    (couldBeWritten && !canBeWritten) ||
    (!before.required && after.required) ||
    (before.computed && !after.computed)
  );
}

function changeOfDeprecation(
  before: { readonly deprecated: boolean },
  after: { readonly deprecated: boolean },
  at: string,
): readonly Found[] {
  const { deprecated: was } = before;
  return changeOfFlag(was, after.deprecated, { at, change: "deprecated", breaks: false });
}

function changeOfFlag(
  before: boolean,
  after: boolean,
  {
    at,
    change,
    breaks,
  }: {
    readonly at: string;
    readonly change: SchemaChange["change"];
    /** Where it is set from now on. */
    readonly breaks: boolean;
  },
): readonly Found[] {
  if (before === after) return [];
  const text = (is: boolean): string => (is ? "yes" : "no");
  return [found(at, change, text(before), text(after), after && breaks)];
}

function changesOfFunctions(before: FunctionSchema, after: FunctionSchema): readonly Found[] {
  const [was, is] = [signatureText(before), signatureText(after)];
  const isDeprecated = ({ deprecationMessage }: FunctionSchema) => ({
    deprecated: deprecationMessage !== "",
  });
  return [
    ...(was === is ? [] : [found("", "signature", was, is, true)]),
    ...changeOfDeprecation(isDeprecated(before), isDeprecated(after), ""),
  ];
}

function found(
  path: string,
  change: SchemaChange["change"],
  before: string,
  after: string,
  breaks = false,
): Found {
  return { path, change, before, after, breaks };
}

function joined(at: string, name: string): string {
  return at === "" ? name : `${at}.${name}`;
}

/** Who says the value of an attribute. */
function modeOf({ required, optional, computed }: AttributeSchema): string {
  if (required) return "required";
  if (optional) return computed ? "optional, computed" : "optional";
  return "computed";
}

function attributeText(attribute: AttributeSchema): string {
  return `${typeExpression(attribute.type)}, ${modeOf(attribute)}`;
}

function blockText(block: NestedBlockSchema): string {
  return `block (${block.nesting}), ${itemsText(block)}`;
}

function itemsText({ minItems, maxItems }: NestedBlockSchema): string {
  if (maxItems === 0) return minItems === 0 ? "any number" : `at least ${minItems}`;
  return minItems === maxItems ? `exactly ${maxItems}` : `${minItems} to ${maxItems}`;
}

function signatureText({ parameters, variadic, returnType }: FunctionSchema): string {
  const texts = parameters.map(({ type }) => typeExpression(type));
  const all = [
    ...texts,
    ...(variadic === undefined ? [] : [`${typeExpression(variadic.type)}...`]),
  ];
  return `(${all.join(", ")}) ${typeExpression(returnType)}`;
}
