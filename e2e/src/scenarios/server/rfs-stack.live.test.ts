import { expect, it } from "vitest";
import { waitFor } from "../../testing/wait-for.ts";
import { storiesOfThisFile } from "../main-job/with-story.ts";

const begin = storiesOfThisFile();

/** The second object is refused in the middle of an apply unless the first one says `good`. */
const TEMPLATE = `variable "word" { type = string }
resource "terraform_data" "first" { input = var.word }
resource "terraform_data" "second" {
  input = terraform_data.first.output
  lifecycle {
    precondition {
      condition     = startswith(terraform_data.first.output, "good")
      error_message = "the word is not good"
    }
  }
}
output "word" { value = terraform_data.first.output }
`;

it("a signed client of RFS deploys a stack, by an execution plan as well; what fails is taken back", {
  timeout: 300_000,
}, async () => {
  const { environment, provider: name } = await begin();
  const stacks = "/v1/default/stacks";
  const send = async (method: string, path: string, body?: object) => {
    const answer = await environment.server.rfs(method, `${stacks}${path}`, body);
    const text = await answer.text();
    expect(answer.status, `${method} ${path}: ${text}`).toBeLessThan(300);
    return (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
  };
  const reaches = async (path: string, status: string) => {
    let seen: Record<string, unknown> = {};
    return waitFor(
      `${path} to be ${status}`,
      async () => {
        seen = await send("GET", path);
        return seen["status"] === status ? seen : undefined;
      },
      { limitMs: 90_000, pollMs: 500, seen: () => JSON.stringify(seen) },
    );
  };
  const stack = `/${name}`;
  const values = (word: string) => ({ template_body: TEMPLATE, vars_body: `word = "${word}"` });
  await send("POST", "", { stack_name: name, enable_auto_rollback: true, ...values("good one") });
  await reaches(`${stack}/metadata`, "DEPLOYMENT_COMPLETE");

  const plans = `${stack}/execution-plans`;
  await send("POST", plans, { execution_plan_name: "second", ...values("good two") });
  await reaches(`${plans}/second/metadata`, "AVAILABLE");
  await send("POST", `${plans}/second`, {});
  await reaches(`${stack}/metadata`, "DEPLOYMENT_COMPLETE");
  const word = async () => (await send("GET", `${stack}/outputs`))["outputs"];
  expect(await word()).toMatchObject([{ name: "word", value: "good two" }]);

  await send("POST", `${stack}/deployments`, values("bad"));
  const back = await reaches(`${stack}/metadata`, "ROLLBACK_COMPLETE");
  expect(back["status_message"]).toContain("the word is not good");
  expect(await word()).toMatchObject([{ name: "word", value: "good two" }]);

  await send("DELETE", stack);
  await waitFor(
    "the stack to be gone",
    async () => (await environment.server.rfs("GET", `${stacks}${stack}/metadata`)).status === 404,
    { limitMs: 90_000, pollMs: 500 },
  );
});
