import type { RunEvent } from "@stackwright/core";
import { createEngine, inProcessOrigin, loadConfiguration } from "@stackwright/core";
import {
  createMockProvider,
  createTestState,
  MemoryBlobs,
  MockCloud,
  TEST_STACK,
} from "@stackwright/core/testing";
import { Mark, Value } from "@stackwright/cty";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import type { LifecycleProvider } from "@stackwright/mux/router";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { JsonEvents } from "./json-events.ts";

const SECRET = 'Tr0ub4dor&3 "quoted" <x>\nsecond line of a long secret';

/** The forms in which a careless provider may repeat a secret. */
const FORMS: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => secret,
  json: (secret) => JSON.stringify({ password: secret }),
  "json within json": (secret) => JSON.stringify(JSON.stringify({ password: secret })),
  "json for html": (secret) =>
    JSON.stringify(secret).replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
  url: (secret) => `https://api.test/?password=${encodeURIComponent(secret)}`,
  base64: (secret) => Buffer.from(secret).toString("base64"),
  "basic authentication": (secret) => Buffer.from(`admin:${secret}`).toString("base64"),
  base64url: (secret) => Buffer.from(secret).toString("base64url"),
  hex: (secret) => Buffer.from(secret).toString("hex"),
  "one line of it": (secret) => secret.split("\n")[1] ?? "",
};

/** Whether a text holds the secret, or a large enough part of any of its forms. */
function leaks(text: string, secret: string): boolean {
  const bytes = Buffer.from(secret);
  const cores = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .slice(4, -6),
  );
  const cored = (form: string) => form.slice(2, -2);
  return [
    secret.slice(0, 12),
    secret.split("\n")[1] ?? "",
    cored(JSON.stringify(secret)),
    cored(encodeURIComponent(secret)),
    bytes.toString("hex").slice(2, -2),
    ...cores,
    ...cores.map((core) => core.replaceAll("+", "-").replaceAll("/", "_")),
  ].some((part) => part !== "" && text.includes(part));
}

const CONFIG = `terraform {
  required_providers {
    mock = { source = "test.local/conf/mock" }
  }
}
variable "password" {
  type      = string
  sensitive = true
}
resource "mock_thing" "a" {
  name   = "a"
  secret = var.password
}
resource "mock_thing" "b" {
  name  = "b"
  value = "derived from \${sha256(var.password)}"
}
`;

type Method = "validateResource" | "plan" | "apply" | "read";

/** A provider that says in one call, as a diagnostic or as the message of an error, what it was given. */
function babbling(
  cloud: MockCloud,
  { method, how, say }: { readonly method: Method; readonly how: string; readonly say: string },
): LifecycleProvider {
  const provider = createMockProvider(cloud);
  const inner = provider[method].bind(provider) as (...args: never[]) => Promise<object>;
  const babble = async (...args: never[]): Promise<object> => {
    if (how === "error") {
      const error = new Error(`request failed: ${say}`, { cause: new Error(`inside: ${say}`) });
      throw Object.assign(error, { request: { body: [say] } });
    }
    const severity = how === "warning" ? "warning" : "error";
    const diagnostic = { severity, summary: `Bad: ${say}`, detail: `The request was ${say}` };
    return { ...(await inner(...args)), diagnostics: [diagnostic] };
  };
  return { ...provider, [method]: babble };
}

async function run(method: Method, how: string, say: string, twice = false) {
  const cloud = new MockCloud();
  const storage = createMemoryStorage();
  const blobs = new MemoryBlobs();
  const { state } = createTestState({ storage, blobs });
  const said: string[] = [];
  const json = new JsonEvents({
    terminal: { write: (text: string) => void said.push(text) },
    operation: "apply",
  });
  const onEvent = (event: RunEvent): void => {
    const { diagnostic } = event.type === "diagnostic" ? event : {};
    const plain = diagnostic && { ...diagnostic, subject: undefined, context: undefined };
    said.push(JSON.stringify({ ...event, diagnostic: plain }));
    json.event(event);
  };
  const configuration = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: () => new TextEncoder().encode(CONFIG),
  });
  const variables = new Map([["password", Value.string(SECRET).mark(Mark.sensitive)]]);
  const engineOf = (provider: LifecycleProvider) =>
    createEngine({
      origins: [inProcessOrigin("mock", { "test.local/conf/mock": () => provider })],
    });
  const once = async (provider: LifecycleProvider): Promise<void> => {
    const engine = engineOf(provider);
    try {
      const made = await engine.plan({ state, configuration, variables, onEvent });
      for (const one of made.diagnostics) said.push(`${one.summary} ${one.detail}`);
      if (made.plan === undefined) return;
      const applied = await engine.apply({
        state,
        configuration,
        variables,
        onEvent,
        plan: made.plan,
      });
      for (const one of applied.diagnostics) said.push(`${one.summary} ${one.detail}`);
    } catch (error) {
      for (let at: unknown = error; at instanceof Error; at = at.cause) {
        said.push(`${at.message} ${at.stack ?? ""} ${JSON.stringify(at)}`);
      }
    }
  };
  if (twice) await once(createMockProvider(cloud));
  await once(babbling(cloud, { method, how, say }));
  for (const { operation } of (await state.read()).objects.values()) {
    if (operation?.problem !== undefined) said.push(`stored: ${operation.problem}`);
  }
  const stored = await storage.list(
    "strong",
    { group: "stackwright", kind: "StateObject" },
    { partition: TEST_STACK.account, peerName: "local", namespace: TEST_STACK.project },
    "",
  );
  const bytes = stored.map(({ data }) => Buffer.from(data?.value ?? []).toString("utf8"));
  return { said: said.join("\n"), bytes: bytes.join("\n") };
}

describe("a secret that a provider repeats", () => {
  describe.each(Object.entries(FORMS))("as %s", (_name, form) => {
    it.each(["error", "diagnostic", "warning"])(
      "leaves the engine nowhere, in an %s",
      async (how) => {
        const say = form(SECRET);
        for (const method of ["validateResource", "plan", "apply"] as const) {
          const { said, bytes } = await run(method, how, say);
          expect(said, method).toContain("(sensitive value)");
          expect(leaks(said, SECRET), `${method}: ${said}`).toBe(false);
          expect(leaks(bytes, SECRET), `${method}, stored`).toBe(false);
        }
      },
    );
  });

  it("is known from what is recorded, too", async () => {
    const say = FORMS.base64?.(SECRET) ?? "";
    const { said } = await run("read", "error", say, true);
    expect(said).toContain("(sensitive value)");
    expect(leaks(said, SECRET)).toBe(false);
  });

  it("is hidden in why an operation is unresolved", async () => {
    const { said } = await run("apply", "error", SECRET);
    expect(said).toContain("stored: It is not known whether the create took place");
    expect(leaks(said, SECRET)).toBe(false);
  });

  it("would be found by this test", async () => {
    for (const form of Object.values(FORMS))
      expect(leaks(`x ${form(SECRET)} y`, SECRET)).toBe(true);
    const harmless = await run("plan", "diagnostic", "nothing of it");
    expect(harmless.said).toContain("Bad: nothing of it");
    expect(harmless.said).not.toContain("(sensitive value)");
  });
});
