import { append } from "@stackwright/base/append";
import { CtyError, convert, isPrimitiveType, Type, type Value } from "@stackwright/cty";
import { isIdentifier } from "../syntax/identifier.ts";
import { expressionReferences } from "../syntax/references.ts";
import { parseTypeConstraint, type TypeConstraint } from "../type/type-constraint.ts";
import { applyTypeDefaults } from "../type/type-defaults.ts";
import { type ContentAttribute, type ContentBlock, readBody } from "./body-content.ts";
import type { ConditionRule, OutputConfig, VariableConfig } from "./module-config.ts";
import { rangeOf, type StaticReader } from "./static-reader.ts";

/** Names that mean something else in the arguments of a module call. */
const RESERVED_VARIABLES = new Set([
  "source",
  "version",
  "providers",
  "count",
  "for_each",
  "lifecycle",
  "depends_on",
  "locals",
]);

/** The name in a label of a block. One that is none is reported; `colons` is added for one with a colon. */
export function blockName(
  reader: StaticReader,
  block: ContentBlock,
  position = 0,
  colons = "",
): string {
  const label = block.labels[position];
  const name = label?.value ?? "";
  if (label !== undefined && !isIdentifier(name)) {
    const detail = `"${name}" is not a name: names begin with a letter or underscore and hold letters, digits, underscores and dashes.`;
    reader.fail("Invalid name", name.includes(":") ? detail + colons : detail, label.range);
  }
  return name;
}

export function decodeVariable(reader: StaticReader, block: ContentBlock): VariableConfig {
  const name = blockName(reader, block);
  if (RESERVED_VARIABLES.has(name)) {
    const detail = `The name "${name}" is taken by an argument of module calls.`;
    reader.fail("Invalid variable name", detail, block.headerRange);
  }
  const { attributes, blocks } = readBody(
    block.body,
    {
      attributes: [
        "type",
        "default",
        "description",
        "sensitive",
        "ephemeral",
        "nullable",
        "deprecated",
        "const",
      ],
      literals: true,
      blocks: { validation: [] },
    },
    reader.diagnostics,
  );
  const constraint = decodeType(reader, attributes.get("type"));
  const nullable = reader.flag(attributes.get("nullable")) ?? true;
  return {
    name,
    range: block.headerRange,
    constraint,
    default: decodeDefault(reader, attributes.get("default"), constraint, nullable),
    description: reader.text(attributes.get("description")),
    sensitive: reader.flag(attributes.get("sensitive")) ?? false,
    ephemeral: reader.flag(attributes.get("ephemeral")) ?? false,
    nullable,
    // As long as no type says otherwise, text from outside is the text itself.
    textIsLiteral: !attributes.has("type") || isPrimitiveType(constraint.type),
    deprecated: reader.text(attributes.get("deprecated")),
    validations: decodeConditions(reader, blocks),
  };
}

function decodeType(reader: StaticReader, attribute: ContentAttribute | undefined): TypeConstraint {
  if (attribute === undefined) return { type: Type.dynamic, defaults: undefined };
  const { type, defaults, diagnostics } = parseTypeConstraint(attribute.expression);
  append(reader.diagnostics, diagnostics);
  return { type, defaults };
}

function decodeDefault(
  reader: StaticReader,
  attribute: ContentAttribute | undefined,
  { type, defaults }: TypeConstraint,
  nullable: boolean,
): Value | undefined {
  if (attribute === undefined) return undefined;
  const value = reader.literal(attribute.expression);
  if (value === undefined) return undefined;
  const range = rangeOf(attribute.expression);
  if (value.isNull && !nullable) {
    const detail =
      "The default cannot be null, because the variable is declared with nullable = false.";
    reader.fail("Invalid default value for variable", detail, range);
    return undefined;
  }
  try {
    return convert(applyTypeDefaults(value, defaults), type);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    const detail = `The default does not fit the type of the variable: ${error.message}.`;
    reader.fail("Invalid default value for variable", detail, range);
    return undefined;
  }
}

export function decodeOutput(reader: StaticReader, block: ContentBlock): OutputConfig | undefined {
  const { attributes, blocks } = readBody(
    block.body,
    {
      attributes: ["value", "description", "sensitive", "ephemeral", "deprecated", "depends_on"],
      literals: ["description", "deprecated", "depends_on"],
      required: ["value"],
      blocks: { precondition: [] },
    },
    reader.diagnostics,
  );
  const name = blockName(reader, block);
  const value = attributes.get("value");
  if (value === undefined) return undefined;
  return {
    name,
    range: block.headerRange,
    expression: value.expression,
    description: reader.text(attributes.get("description")),
    sensitive: reader.flag(attributes.get("sensitive")) ?? false,
    ephemeral: reader.flag(attributes.get("ephemeral")) ?? false,
    deprecated: reader.text(attributes.get("deprecated")),
    dependsOn: reader.references(attributes.get("depends_on")),
    preconditions: decodeConditions(reader, blocks),
  };
}

/** Blocks of a condition and its message. */
export function decodeConditions(
  reader: StaticReader,
  blocks: readonly ContentBlock[],
): ConditionRule[] {
  return blocks.flatMap((block) => {
    const { attributes } = readBody(
      block.body,
      { attributes: ["condition", "error_message"], required: ["condition", "error_message"] },
      reader.diagnostics,
    );
    const condition = attributes.get("condition")?.expression;
    const errorMessage = attributes.get("error_message")?.expression;
    if (condition === undefined || errorMessage === undefined) return [];
    if (expressionReferences(condition).length === 0) {
      const detail =
        "The condition must refer to at least one object of the configuration, or else it checks nothing.";
      reader.fail(`Invalid ${block.type} expression`, detail, rangeOf(condition));
    }
    return [{ condition, errorMessage, range: block.headerRange }];
  });
}
