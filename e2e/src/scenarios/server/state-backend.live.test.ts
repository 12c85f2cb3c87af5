import { expect, it } from "vitest";
import { TerraformCommand } from "../../testing/terraform-command.ts";
import { plain, storiesOfThisFile } from "../main-job/with-story.ts";

const begin = storiesOfThisFile();

it("terraform keeps its state on the server: versions, a lock of the stack, and an older state again", {
  timeout: 240_000,
}, async (context) => {
  const story = await begin();
  const { url, credentials } = story.environment.server;
  const address = `${url}/state/v1/default/default/${story.provider}`;
  const terraform = await TerraformCommand.find(context, story.scratch, {
    TF_HTTP_ADDRESS: address,
    TF_HTTP_LOCK_ADDRESS: address,
    TF_HTTP_UNLOCK_ADDRESS: address,
    TF_HTTP_USERNAME: "ci",
    TF_HTTP_PASSWORD: credentials.token,
    TF_HTTP_RETRY_WAIT_MIN: "1",
    TF_HTTP_RETRY_WAIT_MAX: "2",
  });
  const apply = async (word: string) => {
    await story.scratch.write({
      "main.tf": `terraform {
  backend "http" {}
}
resource "terraform_data" "word" { input = "${word}" }
output "word" { value = terraform_data.word.output }
`,
    });
    return terraform.runs("apply", "-auto-approve");
  };
  await story.scratch.write({ "main.tf": 'terraform {\n  backend "http" {}\n}\n' });
  await terraform.ok("init");
  expect((await apply("one")).text).toContain("1 added");
  expect((await apply("two")).text).toContain("1 changed");

  const person = story.administrator();
  const stack = ["--stack", story.provider];
  const locked = await person.runs("runs", "lock", ...stack, "--reason", "until noon");
  expect(locked.code, plain(locked)).toBe(0);
  const refused = await apply("three");
  expect(refused.code).toBe(1);
  expect(refused.text).toMatch(/until\s+noon/);
  const unlocked = await person.runs("runs", "unlock", ...stack);
  expect(unlocked.code, plain(unlocked)).toBe(0);

  const restored = await person.runs("state-versions", "restore", "1", ...stack);
  expect(restored.code, plain(restored)).toBe(0);
  expect(await terraform.ok("output", "-raw", "word")).toBe("one");
  expect((await apply("one")).text).toContain("0 added, 0 changed, 0 destroyed");
  await terraform.ok("destroy", "-auto-approve");
  expect(await terraform.ok("state", "list")).toBe("");
});
