import { expect, it } from "vitest";
import { ServerStack } from "../../environment/server-stack.ts";
import { TerraformCommand } from "../../testing/terraform-command.ts";
import { plain, storiesOfThisFile } from "../main-job/with-story.ts";

const begin = storiesOfThisFile();

it("what somebody changed by hand is found by a check, and repaired by a run", {
  timeout: 240_000,
}, async () => {
  const story = await begin();
  const { environment, provider: name } = story;
  await story.publish(1);
  const stack = await ServerStack.create(environment, name);
  const configuration = await stack.upload(`terraform {
  required_providers {
    notes = {
      source  = "huawei.com/private-provider/${name}"
      version = "1.0.0"
    }
  }
}
resource "notes_note" "a" {
  name = "${name}-a"
  text = "as configured"
}
`);
  const apply = { configuration, auto_apply: true };
  const { number } = await stack.call<{ number: number }>("POST", "/runs", apply);
  await stack.reaches("applied", number);
  await environment.changeNote(`${name}-a`, "by hand");

  const person = story.administrator();
  const check = ["drift", "check", "--stack", name, "--detailed-exitcode"];
  const found = await person.runs(...check);
  expect(found.code, plain(found)).toBe(2);
  expect(plain(found)).toContain("notes_note.a");
  expect(await environment.readNote(`${name}-a`)).toBe("by hand");

  const { number: repair } = await stack.call<{ number: number }>("POST", "/runs", apply);
  await stack.reaches("applied", repair);
  expect(await environment.readNote(`${name}-a`)).toBe("as configured");
  const repaired = await person.runs(...check);
  expect(repaired.code, plain(repaired)).toBe(0);
});

it("a state of terraform is adopted to the server, whose runs have nothing to do then", {
  timeout: 240_000,
}, async (context) => {
  const story = await begin();
  const { environment, provider: name, scratch } = story;
  const terraform = await TerraformCommand.find(context, scratch);
  const text = 'resource "terraform_data" "kept" { input = "kept" }\n';
  const person = await story.person();
  await person.configures(text);
  await terraform.ok("init");
  await terraform.ok("apply", "-auto-approve");

  const adopted = await person.runs("adopt", "--yes");
  expect(adopted.code, plain(adopted)).toBe(0);
  const stack = new ServerStack(environment, name);
  const body = { configuration: await stack.upload(text), mode: "plan_only" };
  const { number } = await stack.call<{ number: number }>("POST", "/runs", body);
  await stack.reaches("no_changes", number);
});
