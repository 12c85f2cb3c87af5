import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { allowInsecureRequests, discovery } from "openid-client";
import { expect, it, onTestFinished } from "vitest";
import { P, S, startApi } from "../testing/start-api.ts";

/** What a program of a run finds, written where the test reads it. */
const main = (folder: string): string => `resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = <<-EOT
      env | grep -E '^(STACKWRIGHT_IDENTITY|AWS|GOOGLE|ARM|AZURE|TFC|TERRAFORM_VAULT)' > ${folder}/env
      cp "$AWS_WEB_IDENTITY_TOKEN_FILE" ${folder}/aws
      cp "$GOOGLE_APPLICATION_CREDENTIALS" ${folder}/gcp
      stat -c %a "$STACKWRIGHT_IDENTITY_TOKEN_FILE" > ${folder}/mode
      echo "token is $STACKWRIGHT_IDENTITY_TOKEN"
    EOT
  }
}
`;

/** A server whose stack has variables, and a run of it that is applied. */
async function applied(variables: Readonly<Record<string, string>>) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "identity-"));
  onTestFinished(() => scratch.remove());
  const api = await startApi("in-process", { provisionerProjects: ["default/web"] });
  const { server, call, upload } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  for (const [key, value] of Object.entries(variables)) {
    const put = await call("PUT", `${S}/variables/env/${key}`, { body: { value } });
    expect(put.status).toBe(201);
  }
  const { digest } = (await upload({ "main.tf": main(scratch.path) })).json;
  const body = { configuration: digest, auto_apply: true };
  const run = await call("POST", `${S}/runs`, { body });
  expect(run.status).toBe(201);
  const path = `${S}/runs/${String(run.json["id"])}`;
  const phase = async () => (await call("GET", path)).json["phase"];
  await expect.poll(phase, { timeout: 60_000 }).toMatch(/^(?:failed|applied|partially_applied)$/);
  const read = async (name: string) => readFile(join(scratch.path, name), "utf8");
  const environment = Object.fromEntries(
    (await read("env").catch(() => "")).split("\n").map((line): [string, string] => {
      const at = line.indexOf("=");
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
  const log = (await call("GET", `${path}/events`)).text;
  const id = String(run.json["id"]);
  return { ...api, url: server.url, read, environment, log, phase, path, id };
}

it("a run has tokens that verifiers trust, in files and variables, and in no log", {
  timeout: 120_000,
}, async () => {
  const run = await applied({
    STACKWRIGHT_IDENTITY_AUDIENCE: "https://one.example.com",
    STACKWRIGHT_IDENTITY_AUDIENCE_VAULT: "vault",
    STACKWRIGHT_IDENTITY_AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/deploy",
    STACKWRIGHT_IDENTITY_AWS_PLAN_ROLE_ARN: "arn:aws:iam::123456789012:role/read",
    STACKWRIGHT_IDENTITY_GCP_PROVIDER:
      "projects/1/locations/global/workloadIdentityPools/p/providers/s",
    STACKWRIGHT_IDENTITY_AZURE_CLIENT_ID: "client",
    TFC_WORKLOAD_IDENTITY_AUDIENCE_OLD: "old",
  });
  const { url, environment, log } = run;
  expect(await run.phase()).toBe("applied");
  // Two verifiers that know the address of the server alone.
  const found = await discovery(new URL(url), "any", undefined, undefined, {
    execute: [allowInsecureRequests],
  });
  const { issuer, jwks_uri: keysUrl = "" } = found.serverMetadata();
  expect(issuer).toBe(url);
  const keys = createRemoteJWKSet(new URL(keysUrl));
  const verified = async (token: string | undefined, audience: string) =>
    (await jwtVerify(token ?? "", keys, { issuer, audience, algorithms: ["RS256"] })).payload;
  const token = environment["STACKWRIGHT_IDENTITY_TOKEN"] ?? "";
  const claims = await verified(token, "https://one.example.com");
  expect(claims).toMatchObject({
    sub: "account:default:project:web:stack:one:phase:apply",
    stackwright_run_id: run.id,
    stackwright_run_mode: "apply",
    terraform_full_workspace: "organization:default:project:web:workspace:one",
  });
  expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(900);
  await verified(await run.read("aws"), "aws.workload.identity");
  await verified(environment["TERRAFORM_VAULT_AUTH_JWT"], "vault");
  await verified(environment["TFC_WORKLOAD_IDENTITY_TOKEN_OLD"], "old");
  await verified(environment["STACKWRIGHT_IDENTITY_TOKEN_AZURE"], "api://AzureADTokenExchange");
  expect(environment).toMatchObject({
    AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/deploy",
    AWS_ROLE_SESSION_NAME: `stackwright-${run.id}`,
    ARM_USE_OIDC: "true",
    ARM_CLIENT_ID: "client",
  });
  expect(JSON.parse(await run.read("gcp"))).toMatchObject({
    type: "external_account",
    audience:
      "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/s",
  });
  expect((await run.read("mode")).trim()).toBe("600");

  // The log says that they were issued, for whom, and shows none.
  expect(log).toContain("event: identity");
  expect(log).toContain("account:default:project:web:stack:one:phase:plan");
  expect(log).toContain("token is (sensitive value)");
  for (const [name, value] of Object.entries(environment)) {
    if (value.startsWith("eyJ")) expect([name, log.includes(value)]).toEqual([name, false]);
  }
  // What is said of it: the issuer, what a rule compares, and which runs got what; nothing of a sensitive variable.
  const issued = (await run.call("GET", "/api/v1/identity")).json;
  expect(issued).toMatchObject({ issuer: url, keys_url: keysUrl, token_seconds: 900 });
  expect(issued["keys"]).toMatchObject([{ state: "current" }]);
  const hidden = { value: "canary-of-an-audience", sensitive: true };
  await run.call("PUT", `${S}/variables/env/STACKWRIGHT_IDENTITY_AUDIENCE_HIDDEN`, {
    body: hidden,
  });
  const shown = await run.call("GET", `${S}/identity`);
  expect(shown.json).toMatchObject({
    subjects: {
      plan: "account:default:project:web:stack:one:phase:plan",
      apply: "account:default:project:web:stack:one:phase:apply",
    },
    requested: expect.arrayContaining([{ tag: "VAULT", audience: "vault" }, { tag: "HIDDEN" }]),
  });
  const list = shown.json["issued"] as { run: string; phase: string; audiences: string[] }[];
  expect(list.map(({ phase }) => phase)).toEqual(["apply", "plan"]);
  expect(list[0]).toMatchObject({ run: run.id, audiences: expect.arrayContaining(["vault"]) });
  expect(shown.text).not.toContain("canary-of-an-audience");
  // It opens nothing of the server that issued it.
  expect((await run.call("GET", S, { token })).status).toBe(401);
});

it("a run whose stack asks for none has none", { timeout: 120_000 }, async () => {
  const { environment, log } = await applied({ AWS_ROLE_ARN: "given" });
  expect(environment["AWS_ROLE_ARN"]).toBe("given");
  expect(Object.keys(environment).some((name) => name.includes("TOKEN"))).toBe(false);
  expect(log).not.toContain("event: identity");
});
