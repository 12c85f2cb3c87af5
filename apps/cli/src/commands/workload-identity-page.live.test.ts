import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// apps/engine/docs/workload-identity.md as a reader follows it who has no cloud: its files and commands as they are written there, with another port.

const PAGE = "apps/engine/docs/workload-identity.md";
const HOST = "stackwright.example.com";

it("the page about the identity of runs leads to tokens as its rule asks for them", {
  timeout: 180_000,
}, async () => {
  const page = await createPageFolder();
  const { folder, shell } = page;
  const [serve = "", ...blocks] = await pageBlocks(PAGE, "sh");
  const [rule = "", hooks = "", ...files] = await pageBlocks(PAGE, "json");
  expect([blocks.length, files.length]).toEqual([3, 0]);
  await mkdir(join(folder, "site"));
  await writeFile(join(folder, "site/main.tf"), 'resource "terraform_data" "a" {}\n');
  await writeFile(join(folder, "hooks.json"), hooks);
  const { url, here } = await startPageServer(serve, page);
  const output = await shell(blocks.map(here).join("\n"));
  expect(output).toMatch(/Run 2 is applied, revision \d+\./);

  /** What a hook showed. */
  const shownBy = (hook: string): string[] =>
    [...output.matchAll(new RegExp(`^hook ${hook}: (.*)$`, "gm"))].map(([, line = ""]) => line);
  const [planRole, planClaims = "{}"] = shownBy("plan-identity");
  const [applyRole, applyClaims = "{}"] = shownBy("apply-identity");
  expect([planRole, applyRole]).toEqual([
    "arn:aws:iam::123456789012:role/read",
    "arn:aws:iam::123456789012:role/deploy",
  ]);
  const { Statement: statements } = JSON.parse(rule) as {
    readonly Statement: readonly [{ readonly Condition: { readonly StringEquals: object } }];
  };
  const of = (claims: string) => {
    const { aud, sub } = JSON.parse(claims) as { readonly aud: string; readonly sub: string };
    return { [`${HOST}:aud`]: aud, [`${HOST}:sub`]: sub };
  };
  expect(of(applyClaims)).toEqual(statements[0].Condition.StringEquals);
  expect(of(planClaims)).not.toEqual(statements[0].Condition.StringEquals);
  expect(JSON.parse(applyClaims)).toMatchObject({ iss: `https://${HOST}` });
  const found = await (await fetch(`${url}/.well-known/openid-configuration`)).json();
  expect(found).toMatchObject({ issuer: `https://${HOST}` });
});
