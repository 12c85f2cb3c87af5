import {
  type Attribute,
  type Block,
  type BlockLabel,
  type Body,
  type BodyItem,
  type Expression,
  type JsonFile,
  type JsonMember,
  type JsonObjectNode,
  type JsonStringNode,
  type JsonSyntaxNode,
  jsonExpression,
  nativeForm,
} from "@stackwright/lang";

type BlockForm = readonly [labels: number, body: BodyForm];

/** What the members of an object in JSON syntax mean. One that is in neither list is an argument that is evaluated. */
interface BodyForm {
  readonly blocks?: (type: string) => BlockForm | undefined;
  /** Arguments whose strings hold a reference or a word, and no template. */
  readonly written?: readonly string[];
  /** Whether blocks of a provider stand here, which nothing tells from arguments. @default false */
  readonly isOfProvider?: boolean;
}

const PLAIN: BodyForm = {};
const GENERATED: BlockForm = [
  1,
  {
    written: ["iterator"],
    blocks: (type) => (type === "content" ? [0, OF_PROVIDER] : undefined),
  },
];
const OF_PROVIDER: BodyForm = {
  isOfProvider: true,
  blocks: (type) => (type === "dynamic" ? GENERATED : undefined),
};
const CONDITIONS = { precondition: [0, PLAIN], postcondition: [0, PLAIN] } as const;
const RESOURCE: BlockForm = [
  2,
  {
    isOfProvider: true,
    written: ["depends_on", "provider"],
    blocks: oneOf({
      dynamic: GENERATED,
      lifecycle: [
        0,
        { written: ["ignore_changes", "replace_triggered_by"], blocks: oneOf(CONDITIONS) },
      ],
      provisioner: [
        1,
        { written: ["when", "on_failure"], blocks: oneOf({ connection: [0, PLAIN] }) },
      ],
      connection: [0, PLAIN],
    }),
  },
];
const ADDRESSES: BlockForm = [0, { written: ["from", "to", "provider"] }];
const OVERRIDE: BlockForm = [0, { written: ["target", "override_during"] }];
const OVERRIDES = {
  override_resource: OVERRIDE,
  override_data: OVERRIDE,
  override_module: OVERRIDE,
} as const;
const RUN: BodyForm = {
  written: ["command", "providers", "expect_failures"],
  blocks: oneOf({
    variables: [0, PLAIN],
    module: [0, PLAIN],
    assert: [0, PLAIN],
    plan_options: [0, { written: ["mode", "target", "replace"] }],
    ...OVERRIDES,
  }),
};

const FORMS = {
  configuration: {
    blocks: oneOf({
      resource: RESOURCE,
      data: RESOURCE,
      ephemeral: RESOURCE,
      variable: [1, { written: ["type"], blocks: oneOf({ validation: [0, PLAIN] }) }],
      output: [1, { written: ["depends_on"], blocks: oneOf(CONDITIONS) }],
      locals: [0, PLAIN],
      provider: [1, OF_PROVIDER],
      module: [1, { written: ["depends_on", "providers"] }],
      terraform: [0, { blocks: oneOf({ required_providers: [0, PLAIN] }) }],
      check: [1, { blocks: oneOf({ data: RESOURCE, assert: [0, PLAIN] }) }],
      moved: ADDRESSES,
      removed: ADDRESSES,
      import: ADDRESSES,
    }),
  },
  values: PLAIN,
  test: {
    blocks: oneOf({
      run: [1, RUN],
      variables: [0, PLAIN],
      provider: [1, OF_PROVIDER],
      mock_provider: [1, { blocks: oneOf(OVERRIDES) }],
      test: [0, PLAIN],
      ...OVERRIDES,
    }),
  },
} as const satisfies Readonly<Record<string, BodyForm>>;

function oneOf(forms: Readonly<Record<string, BlockForm>>): NonNullable<BodyForm["blocks"]> {
  return (type) => (Object.hasOwn(forms, type) ? forms[type] : undefined);
}

/**
 * The body that a file in JSON syntax stands for. Its parts are where they are in the file: names of arguments without their quotes,
 * labels with them, as in native syntax. What cannot be understood is left out.
 */
export function jsonBody({ source, root }: JsonFile, role: keyof typeof FORMS): Body {
  const items = objectsOf(root).flatMap((object) => itemsOf(object, FORMS[role]));
  return { kind: "body", source, start: 0, end: source.text.length, items };
}

function itemsOf({ members }: JsonObjectNode, form: BodyForm): BodyItem[] {
  return members.flatMap((member): readonly BodyItem[] => {
    const { name, value } = member;
    // Under this name a file has its comments.
    if (name.value === "//" || value.kind === "invalid") return [];
    const known = form.blocks?.(name.value);
    if (known !== undefined) return blocksOf(name, known, [], value);
    if (form.isOfProvider === true && hasGenerated(value)) {
      return blocksOf(name, [0, OF_PROVIDER], [], value);
    }
    return [argumentOf(member, form)];
  });
}

/** Whether blocks are generated in what is an argument or blocks: with an iterator, references there mean something else. */
function hasGenerated(value: JsonSyntaxNode): boolean {
  return objectsOf(value).some(({ members }) =>
    members.some(({ name, value: inner }) =>
      name.value === "dynamic" ? inner.kind === "object" : hasGenerated(inner),
    ),
  );
}

/** One level of objects, or of arrays of objects, for each label that is left. */
function blocksOf(
  type: JsonStringNode,
  [count, form]: BlockForm,
  labels: readonly BlockLabel[],
  value: JsonSyntaxNode,
): readonly Block[] {
  if (count > labels.length) {
    return objectsOf(value)
      .flatMap(({ members }) => members)
      .filter(({ name }) => name.value !== "//")
      .flatMap(({ name, value: inner }) => {
        const { source, start, end } = name;
        const label = {
          kind: "label",
          source,
          start,
          end,
          value: name.value,
          quoted: true,
        } as const;
        return blocksOf(type, [count, form], [...labels, label], inner);
      });
  }
  const header = labels.at(-1) ?? type;
  return objectsOf(value).map((object, at): Block => {
    const { source, start, end } = object;
    // Of several blocks with one header the first has it.
    const own = at === 0 ? header : { start, end: start + 1 };
    return {
      kind: "block",
      source,
      start: own.start,
      end,
      type: type.value,
      typeEnd: own.end,
      labels,
      headerEnd: own.end,
      body: { kind: "body", source, start, end, items: itemsOf(object, form) },
    };
  });
}

function argumentOf({ name, value }: JsonMember, form: BodyForm): Attribute {
  const { source, start, end } = name;
  const expression = jsonExpression(value, []);
  const isWritten = form.written?.includes(name.value) === true;
  return {
    kind: "attribute",
    source,
    start: start + 1,
    end: value.end,
    name: name.value,
    nameEnd: Math.max(start + 1, end - 1),
    equalsStart: end,
    expression: isWritten ? asWritten(expression) : expression,
  };
}

/** The strings of an expression as what their text would be in native syntax. */
function asWritten(expression: Expression): Expression {
  if (expression.kind === "json-string") return nativeForm(expression).value ?? expression;
  if (expression.kind === "tuple") {
    return { ...expression, elements: expression.elements.map(asWritten) };
  }
  if (expression.kind !== "object") return expression;
  const items = expression.items.map(({ key, value }) => ({
    key: { ...key, expression: asWritten(key.expression) },
    value: asWritten(value),
  }));
  return { ...expression, items };
}

function objectsOf(value: JsonSyntaxNode): JsonObjectNode[] {
  const elements = value.kind === "array" ? value.elements : [value];
  return elements.filter((element) => element.kind === "object");
}
