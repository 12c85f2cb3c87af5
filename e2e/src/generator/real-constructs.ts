import type { ConfigurationItem } from "./configuration-tree.ts";
import { type Draft, source } from "./draft.ts";
import { someCondition } from "./draft-values.ts";
import type { ProviderName } from "./provider-resources.ts";
import { BOOL, NUMBER, STRING, type ValueType } from "./value-type.ts";

const STRINGS: ValueType = { kind: "list", element: STRING };
const TEXTS: ValueType = { kind: "map", element: STRING };
/** What `deep` of {@link OPTIONAL_TYPE} is once its defaults are there. */
const DEEP: ValueType = {
  kind: "object",
  attributes: new Map<string, ValueType>([
    ["tags", TEXTS],
    ["on", BOOL],
  ]),
};

const OPTIONAL_TYPE: readonly ConfigurationItem[] = [
  {
    open: "type = object({",
    items: [
      "name = string",
      "size = optional(number, 3)",
      'deep = optional(object({ tags = optional(map(string), { a = "b" }), on = optional(bool, true) }), {})',
      "many = optional(list(object({ id = string, weight = optional(number, 1) })), [])",
    ],
    close: "})",
  },
];

/** A variable of objects whose attributes may be left out. */
export function optionalVariable(more: readonly ConfigurationItem[] = []): ConfigurationItem {
  return { open: 'variable "opt" {', items: [...OPTIONAL_TYPE, ...more] };
}

/** A value for such a variable, with some of the attributes. */
export function optionalValue({ dice, ...draft }: Draft, isConstant = false): string {
  const texts = source({ dice, references: isConstant ? [] : draft.references, isWide: true });
  const of = (type: ValueType): string => (isConstant ? texts.literal(type, 0) : texts.of(type, 1));
  const deep = [
    ...(dice.chance(50) ? [`on = ${dice.pick(["false", "null"])}`] : []),
    ...(dice.chance(40) ? [`tags = { k = ${of(STRING)} }`] : []),
  ];
  const many = dice.times(0, 2, (at) => {
    const weight = dice.chance(50) ? `, weight = ${dice.pick(["7", "null"])}` : "";
    return `{ id = "m${at}"${weight} }`;
  });
  const members = [
    `name = ${of(STRING)}`,
    ...(dice.chance(40) ? [`size = ${dice.pick(["5", '"6"', "null"])}`] : []),
    ...(dice.chance(50) ? [`deep = { ${deep.join(", ")} }`] : []),
    ...(dice.chance(40) ? [`many = [${many.join(", ")}]`] : []),
    // What the type does not name is dropped.
    ...(dice.chance(15) ? ["more = 1"] : []),
  ];
  return `{ ${members.join(", ")} }`;
}

/** What others may refer to of such a variable. */
export function referToOptional({ references }: Pick<Draft, "references">): void {
  references.push(
    { text: "var.opt.name", type: STRING },
    { text: "var.opt.size", type: NUMBER },
    { text: "var.opt.deep.on", type: BOOL },
    { text: "var.opt.deep", type: DEEP },
    { text: "[for m in var.opt.many : m.weight]", type: { kind: "list", element: NUMBER } },
  );
}

/** Adds values that configurations are often written with: templates of files, texts of several lines, functions of providers. */
export function addRealValues(draft: Draft, providers: readonly ProviderName[]): void {
  const { dice, references, variables, locals, files } = draft;
  if (dice.chance(35)) {
    variables.push(optionalVariable([`default = ${optionalValue(draft, true)}`]));
    referToOptional(draft);
  }
  if (dice.chance(30)) addTemplate(draft);
  if (dice.chance(30)) {
    const texts = source(draft);
    const mark = dice.pick(["<<-EOT", "<<EOT"]);
    locals.push(
      [
        `text = ${mark}`,
        `    first \${${texts.of(STRING, 2)}}`,
        `      %{ if ${texts.of(BOOL, 2)} ~}`,
        "      yes $${no}",
        "      %{ else ~}",
        `      \${jsonencode(${texts.of(STRINGS, 2)})}`,
        "      %{ endif ~}",
        "EOT",
      ].join("\n"),
    );
    references.push({ text: "local.text", type: STRING });
  }
  if (providers.includes("time") && dice.chance(40)) {
    const parsed = 'provider::time::rfc3339_parse("2024-02-28T23:30:00Z").year';
    references.push({ text: parsed, type: NUMBER });
  }
  if (providers.includes("local") && dice.chance(40)) {
    references.push({ text: 'provider::local::direxists("../none")', type: BOOL });
  }
  if (providers.includes("lab") && dice.chance(60)) {
    const text = `provider::lab::join("-", ${source(draft).of(STRING, 2)}, "end")`;
    references.push({ text, type: STRING });
  }
  if (dice.chance(15)) {
    variables.push({
      open: 'variable "passing" {',
      items: ["type = string", 'default = "gone"', "ephemeral = true"],
    });
    const text = dice.pick([
      "tostring(ephemeralasnull(var.passing)) == null",
      'can(regex("^g", "gg"))',
    ]);
    references.push({ text: `(${text})`, type: BOOL });
  }
  if (dice.chance(10)) addSecretKeys(draft);
  if (dice.chance(15)) addJson(draft, files);
}

function addTemplate(draft: Draft): void {
  const { dice, references, locals, files } = draft;
  files.set("templates/t.tftpl", [
    "Hello ${upper(name)}!",
    "%{ for i, item in list ~}",
    "${i}: ${item}$${raw}",
    "%{ endfor ~}",
    dice.pick(["%{ if on }on%{ else }off%{ endif }", "%{ if on ~}\n  on\n%{ endif ~}"]),
  ]);
  const texts = source(draft);
  const given = `name = coalesce(${texts.of(STRING, 2)}, "none"), list = ${texts.of(STRINGS, 2)}, on = ${texts.of(BOOL, 2)}`;
  // Without one of its values the template cannot be rendered.
  const values = dice.chance(5) ? given.replace(/, on = .*/, "") : given;
  locals.push(`rendered = templatefile("\${path.module}/templates/t.tftpl", { ${values} })`);
  references.push({ text: "local.rendered", type: STRING });
}

/** Instances whose keys are secret, which is refused, and those of which only the values are. */
function addSecretKeys({ dice, variables, extra }: Draft): void {
  variables.push({
    open: 'variable "hidden" {',
    items: ["type = string", 'default = "2"', "sensitive = true"],
  });
  const repetition = dice.pick([
    "for_each = toset([var.hidden])",
    "for_each = nonsensitive(toset([var.hidden]))",
    'for_each = { for k in ["a", "b"] : k => var.hidden }',
    "for_each = { (var.hidden) = 1 }",
    "count = var.hidden",
    "count = nonsensitive(var.hidden)",
  ]);
  const input = repetition.startsWith("count") ? "count.index" : "each.value";
  extra.push({
    open: 'resource "terraform_data" "hidden" {',
    items: [repetition, `input = ${input}`],
  });
}

/** Adds a file in JSON, which refers to the other ones and is referred to. */
function addJson(draft: Draft, files: Draft["files"]): void {
  const { dice, references } = draft;
  const texts = source(draft);
  const repetition = dice.pick([{}, { count: 2 }, { for_each: '${toset(["a", "b"])}' }]);
  const own = "count" in repetition ? '${count.index}-"q"' : "plain %{ if true }yes%{ endif }";
  const lifecycle = dice.chance(40) ? { lifecycle: { create_before_destroy: true } } : {};
  const document = {
    "//": "comment",
    locals: { in_json: [`\${${texts.of(STRING, 2)}}`, "x", 1.5, null] },
    resource: {
      terraform_data: {
        j0: {
          ...repetition,
          ...lifecycle,
          input: { text: own, value: `\${${texts.of(TEXTS, 2)}}`, list: ["a", true, 3] },
        },
      },
    },
    output: {
      j: {
        value: dice.pick(["${terraform_data.j0[*].id != []}", "${local.in_json[1]}", "text"]),
        ...(draft.hasSecrets && { sensitive: true }),
      },
    },
  };
  files.set("more.tf.json", JSON.stringify(document, undefined, 2).split("\n"));
  references.push({ text: "local.in_json[1]", type: STRING });
}

/** Adds what stands beside resources: data sources, also in checks, ephemeral resources, blocks that are written by a loop. */
export function addRealBlocks(draft: Draft, providers: readonly ProviderName[]): void {
  const { dice, extra, references } = draft;
  if (dice.chance(15)) {
    extra.push({
      open: 'check "data" {',
      items: [
        {
          open: 'data "terraform_remote_state" "other" {',
          items: [
            'backend = "local"',
            `config = { path = ${dice.pick(['"../none.tfstate"', `"../\${${source(draft).of(STRING, 1)}}.tfstate"`])} }`,
          ],
        },
        {
          open: "assert {",
          items: [
            `condition = try(length(data.terraform_remote_state.other.outputs) > 0, ${someCondition(draft)})`,
            'error_message = "nothing is published"',
          ],
        },
      ],
    });
  }
  if (providers.includes("null") && dice.chance(50)) {
    const inputs = `inputs = ${source(draft).of(TEXTS, 2)}`;
    const waits = draft.resources.at(-1);
    const depends =
      waits !== undefined && dice.chance(40) ? [`depends_on = [${waits.type}.${waits.name}]`] : [];
    extra.push({ open: 'data "null_data_source" "d" {', items: [inputs, ...depends] });
    references.push({ text: "data.null_data_source.d.outputs", type: TEXTS });
  }
  if (providers.includes("local") && dice.chance(50)) {
    const written = draft.resources.find(
      ({ type, repetition }) => type === "local_file" && repetition === "none",
    );
    if (written !== undefined) {
      const address = `local_file.${written.name}`;
      const items = [`filename = ${address}.filename`, `depends_on = [${address}]`];
      extra.push({ open: 'data "local_file" "d" {', items });
      references.push({ text: "data.local_file.d.content", type: STRING });
    }
  }
  if (providers.includes("lab") && dice.chance(60)) {
    extra.push(
      { open: 'ephemeral "lab_lease" "l" {', items: [`name = "lease"`] },
      {
        open: 'resource "lab_object" "keeper" {',
        items: [
          'name = "keeper"',
          dice.pick([
            "password = ephemeral.lab_lease.l.secret",
            'password = "plain"',
            'password = "${ephemeral.lab_lease.l.secret}-1"',
          ]),
          `password_version = ${dice.pick(["1", "null"])}`,
          `tags = ${source(draft).of(TEXTS, 1)}`,
          ...(dice.chance(40) ? [`network = { cidr = "10.0.0.0/8", secret = "s" }`] : []),
          ...(dice.chance(40) ? [`peers = [{ host = "a" }, { host = "b", port = 1 }]`] : []),
          ...(dice.chance(40) ? [`labels = toset(${source(draft).of(STRINGS, 1)})`] : []),
        ],
      },
    );
    references.push({ text: "lab_object.keeper.name", type: STRING });
  }
  if (providers.includes("random") && dice.chance(30)) {
    extra.push(
      { open: 'ephemeral "random_password" "p" {', items: ["length = 12"] },
      {
        open: "locals {",
        items: ['passing = "${ephemeral.random_password.p.result}-x"'],
      },
    );
    references.push({ text: "(ephemeralasnull(local.passing) == null)", type: BOOL });
  }
  if (providers.includes("tls") && dice.chance(70)) addRequest(draft);
}

/** A certificate request, whose blocks are written by a loop. */
function addRequest(draft: Draft): void {
  const { dice, extra } = draft;
  const names = dice.pick(['["one"]', "[]", `[${source(draft).of(STRING, 1)}]`]);
  const iterator = dice.chance(40) ? "it" : undefined;
  const name = iterator ?? "subject";
  extra.push(
    { open: 'resource "tls_private_key" "request" {', items: ['algorithm = "ED25519"'] },
    {
      open: 'resource "tls_cert_request" "request" {',
      items: [
        "private_key_pem = tls_private_key.request.private_key_pem",
        `dns_names = ${source(draft).of(STRINGS, 1)}`,
        {
          open: 'dynamic "subject" {',
          items: [
            `for_each = ${names}`,
            ...(iterator === undefined ? [] : [`iterator = ${iterator}`]),
            {
              open: "content {",
              items: [`common_name = ${name}.value`, `organization = "o-\${${name}.key}"`],
            },
          ],
        },
      ],
    },
  );
}
