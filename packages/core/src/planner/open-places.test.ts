import { Mark, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import type { OutputChange, ResourceChange } from "../plan/change.ts";
import type { Plan } from "../plan/plan.ts";
import { decodePlan, encodePlan } from "../plan/plan-codec.ts";
import { planToJson } from "../plan/plan-json.ts";
import { concealPlan } from "../plan/shown-plan.ts";
import { loadText } from "../testing/simulation/sim-parts.ts";
import { withOpenPlaces } from "./open-places.ts";

const text = (value: string): Value => Value.string(value);
const secret = (value: string): Value => text(value).mark(Mark.sensitive);

function changeOf(address: string, sides: Partial<ResourceChange>): ResourceChange {
  const [, name = "", key] = /\.(\w+)(?:\["(\w+)"\])?$/.exec(address) ?? [];
  return {
    address,
    deposed: "",
    mode: "managed",
    type: "mock_thing",
    name,
    module: "",
    key,
    provider: { source: "test.local/conf/mock", version: "1.2.3", alias: "" },
    action: "create",
    replacePaths: [],
    causes: [],
    words: { priorPrivate: Uint8Array.of(), plannedPrivate: Uint8Array.of() },
    schemaVersion: 0,
    dependencies: [],
    createBeforeDestroy: false,
    record: false,
    legacyTypeSystem: false,
    ...sides,
  };
}

interface Given {
  readonly config: string;
  readonly changes: Readonly<Record<string, Record<string, Value>>>;
  readonly before?: Readonly<Record<string, Record<string, Value>>>;
  readonly outputs?: readonly OutputChange[];
  readonly variables?: Readonly<Record<string, Value>>;
  readonly environment?: readonly string[];
}

/** What is shown of a plan that was stored: sensitive parts as `(hidden)`. */
async function shown({
  config,
  changes,
  before = {},
  outputs = [],
  variables = {},
  environment,
}: Given) {
  const { root } = await loadText(config);
  const plan: Plan = {
    stack: "s",
    revision: 7n,
    createdAtMs: 0,
    mode: "normal",
    partial: false,
    options: { targets: [], excludes: [], replace: [] },
    workspace: "default",
    variables: new Map(Object.entries(variables)),
    providers: [],
    expansions: [],
    changes: Object.entries(changes).map(([address, after]) => {
      const former = before[address];
      return changeOf(address, {
        after: Value.object(after),
        ...(former && { before: Value.object(former), action: "update" }),
      });
    }),
    known: new Map(),
    outputs,
    drift: [],
    checks: [],
    inputs: [],
  };
  const stored = decodePlan(encodePlan(withOpenPlaces(plan, root)));
  const concealed = concealPlan(stored, environment);
  const places: Record<string, string> = {};
  const add = (at: string, value: Value): void => {
    const [plain] = value.unmark();
    const { kind } = plain.type;
    if (value.hasMark(Mark.sensitive)) places[at] = "(hidden)";
    else if (kind === "string" || kind === "number") {
      places[at] = kind === "string" ? plain.asString() : String(plain.asNumber());
    } else if (kind === "list" || kind === "tuple") {
      for (const [index, element] of plain.elements().entries()) add(`${at}.${index}`, element);
    } else for (const [name, member] of plain.entries()) add(`${at}.${name}`, member);
  };
  for (const change of concealed.changes) {
    if (change.after !== undefined) add(change.name, change.after);
    if (change.before !== undefined) add(`before ${change.name}`, change.before);
  }
  for (const { name, after } of concealed.outputs) {
    if (after !== undefined) add(`output ${name}`, after);
  }
  return { places, json: planToJson(stored, "d1") };
}

describe("what a plan shows although it is a secret, too", () => {
  it("is what the configuration writes as a literal at the place", async () => {
    const { places, json } = await shown({
      config: `
        resource "mock_thing" "db" {
          user     = "postgres"
          password = "postgres"
          labels   = { role = "postgres", "postgres" = "x", port = 654321 }
          names    = ["other", "postgres"]
          host { name = "postgres" }
          note     = <<-END
            user postgres
          END
        }
        output "user" { value = "postgres" }
      `,
      changes: {
        "mock_thing.db": {
          user: text("postgres"),
          password: secret("postgres"),
          labels: Value.map({ role: text("postgres"), postgres: text("x"), port: text("654321") }),
          names: Value.list([text("other"), text("postgres")]),
          host: Value.list([Value.object({ name: text("postgres") })]),
          note: text("user postgres\n"),
        },
      },
      variables: { pin: Value.number(654_321).mark(Mark.sensitive) },
      outputs: [{ name: "user", action: "create", after: text("postgres"), sensitive: false }],
    });
    expect(places).toEqual({
      "db.user": "postgres",
      "db.password": "(hidden)",
      "db.labels.role": "postgres",
      "db.labels.postgres": "x",
      "db.labels.port": "654321",
      "db.names.0": "other",
      "db.names.1": "postgres",
      "db.host.0.name": "postgres",
      "db.note": "user postgres\n",
      "output user": "postgres",
    });
    expect(json).toContain('"user":"postgres"');
    expect(json).toContain('"password":null');
  });

  it("is not what a provider repeats in the object, and not what goes through a name", async () => {
    const { places } = await shown({
      config: `
        locals { pw = "hunter22" }
        variable "pw" { default = "hunter22" }
        resource "mock_thing" "db" {
          password = local.pw
          data     = "login hunter22" == "" ? "" : local.pw
          other    = "x \${var.pw}"
        }
        resource "mock_thing" "copy" { text = local.pw }
      `,
      changes: {
        "mock_thing.db": {
          password: secret("hunter22"),
          data: text("hunter22"),
          other: text("x hunter22"),
          echo: text("hunter22"),
          id: text("db-hunter22"),
        },
        "mock_thing.copy": { text: text("hunter22"), echo: text("hunter22") },
      },
    });
    expect(new Set(Object.values(places))).toEqual(new Set(["(hidden)"]));
  });

  it("hides no other name that is made of such a literal, but for those of the object with the secret", async () => {
    const { places } = await shown({
      config: `
        resource "mock_thing" "db" {
          user     = "postgres"
          password = "postgres"
        }
        resource "mock_thing" "disk" { name = "disk-of-postgres" }
      `,
      changes: {
        "mock_thing.db": {
          user: text("postgres"),
          password: secret("postgres"),
          id: text("postgres-1"),
        },
        "mock_thing.disk": { name: text("disk-of-postgres"), id: text("arn:postgres/1") },
      },
    });
    expect(places).toEqual({
      "db.user": "postgres",
      "db.password": "(hidden)",
      "db.id": "(hidden)",
      "disk.name": "disk-of-postgres",
      "disk.id": "arn:postgres/1",
    });
  });

  it("is the key of an instance, which is in its address, and a former value that is the same", async () => {
    const { places } = await shown({
      config: `resource "mock_thing" "db" {
        for_each = toset(["postgres"])
        user     = each.key
        label    = "of \${each.key}"
        role     = "writer"
      }`,
      changes: {
        'mock_thing.db["postgres"]': {
          user: text("postgres"),
          label: text("of postgres"),
          role: text("writer"),
        },
      },
      before: {
        'mock_thing.db["postgres"]': {
          user: text("postgres"),
          label: text("postgres"),
          role: text("reader"),
        },
      },
      variables: { pw: secret("postgres"), role: secret("reader") },
    });
    expect(places).toEqual({
      "db.user": "postgres",
      "db.label": "of postgres",
      "db.role": "writer",
      "before db.user": "postgres",
      // It is shown anyway, and this is not the object whose secret it is.
      "before db.label": "postgres",
      "before db.role": "(hidden)",
    });
  });

  it("is nothing where the configuration does not write what the plan has, or of the environment", async () => {
    const { places } = await shown({
      config: `
        resource "mock_thing" "db" {
          user = "postgres"
          host { name = "postgres" }
          dynamic "port" {
            for_each = [1]
            content { name = "postgres" }
          }
          region = "north-canary"
        }
      `,
      changes: {
        "mock_thing.db": {
          user: text("postgres!"),
          host: Value.list([
            Value.object({ name: text("no") }),
            Value.object({ name: text("postgres") }),
          ]),
          port: Value.list([Value.object({ name: text("postgres") })]),
          region: text("north-canary"),
        },
      },
      variables: { pw: secret("postgres") },
      environment: ["north-canary"],
    });
    expect(places).toEqual({
      "db.user": "(hidden)",
      "db.host.0.name": "no",
      "db.host.1.name": "(hidden)",
      "db.port.0.name": "(hidden)",
      "db.region": "(hidden)",
    });
  });
});
