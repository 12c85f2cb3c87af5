import { expect, it, onTestFinished, vi } from "vitest";
import { officialClient } from "../testing/official-client.ts";
import { startApi } from "../testing/start-api.ts";

const STACKS = "/v1/{project_id}/stacks";
const STACK = `${STACKS}/{stack_name}`;
const POLL = { timeout: 60_000, interval: 50 };

/** The second object is refused in the middle of an apply unless the first one says `good`. */
const TEMPLATE = `
variable "word" { type = string }
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

async function start() {
  const api = await startApi();
  const key = await api.server.credentials.createKey({ account: "default", roles: ["admin"] });
  const send = await officialClient({ endpoint: api.server.url, project: "web", ...key });
  // The client prints every refused request, with its signature.
  const quiet = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => quiet.mockRestore());
  const pathParams = { stack_name: "shop" };
  const get = async (part: string, queryParams: Record<string, string> = {}) =>
    send({ method: "GET", url: `${STACK}/${part}`, pathParams, queryParams });
  const post = async (part: string, data: Record<string, unknown>) =>
    send({ method: "POST", url: `${STACK}/${part}`, pathParams, data });
  const reaches = async (status: string) =>
    vi.waitFor(async () => {
      const found = await get("metadata");
      expect(found["status"]).toBe(status);
      return found;
    }, POLL);
  const words = async () => {
    const { outputs } = await get("outputs");
    return (outputs as { value: string }[]).map(({ value }) => value);
  };
  const change = async (data: Record<string, unknown>) =>
    send({ method: "PATCH", url: STACK, pathParams, data });
  const create = async (data: Record<string, unknown>) =>
    send({
      method: "POST",
      url: STACKS,
      data: { stack_name: "shop", enable_auto_rollback: true, ...data },
    });
  const deploy = async (word: string, template = TEMPLATE) =>
    post("deployments", { template_body: template, vars_body: `word = "${word}"` });
  return { ...api, get, post, reaches, words, change, create, deploy };
}

it("takes a deployment that failed half-way back to the former one, with its values", async () => {
  const { get, post, reaches, words, create, deploy } = await start();
  await create({ template_body: TEMPLATE, vars_body: 'word = "good one"' });
  await reaches("DEPLOYMENT_COMPLETE");
  expect(await get("metadata")).toMatchObject({ enable_auto_rollback: true });
  const { deployment_id: failed } = await deploy("bad");
  const back = await reaches("ROLLBACK_COMPLETE");
  expect(back["status_message"]).toContain(`the deployment ${String(failed)} failed`);
  expect(back["status_message"]).toContain("the word is not good");
  expect(await words()).toEqual(["good one"]);
  // The events of both are those of the deployment.
  const { stack_events: events } = await get("events", {
    deployment_id: String(failed),
    filter: "event_type==SUMMARY|event_type==UPDATE_COMPLETE,resource_name==first",
    field: "resource_name",
  });
  expect(events).toHaveLength(2);
  await expect(post("rollbacks", {})).rejects.toMatchObject({ httpStatusCode: 403 });
  await expect(post("continuations", {})).rejects.toMatchObject({ httpStatusCode: 403 });

  // One that fails before it changed anything needs no run that goes back.
  await deploy(
    "good two",
    `${TEMPLATE}\nresource "terraform_data" "third" { input = nothing.at_all }`,
  );
  const same = await reaches("ROLLBACK_COMPLETE");
  expect(same["status_message"]).toContain("it had changed nothing");
  expect(await words()).toEqual(["good one"]);

  // The values that the next deployment goes back to are still those of the complete one.
  await deploy("good three");
  await reaches("DEPLOYMENT_COMPLETE");
  await deploy("worse");
  await reaches("ROLLBACK_COMPLETE");
  expect(await words()).toEqual(["good three"]);
}, 180_000);

it("destroys what the first deployment made before it failed, also by an execution plan", async () => {
  const { get, post, reaches, create, change } = await start();
  await create({ template_body: TEMPLATE, vars_body: 'word = "bad"' });
  await reaches("ROLLBACK_COMPLETE");
  expect((await get("resources"))["stack_resources"]).toEqual([]);

  await post("execution-plans", {
    execution_plan_name: "first",
    template_body: TEMPLATE,
    vars_body: 'word = "bad as well"',
  });
  await vi.waitFor(
    async () => expect((await get("execution-plans/first/metadata"))["status"]).toBe("AVAILABLE"),
    POLL,
  );
  const { deployment_id: id } = await post("execution-plans/first", {});
  await vi.waitFor(
    async () =>
      expect(await get("metadata")).toMatchObject({
        status: "ROLLBACK_COMPLETE",
        status_message: expect.stringContaining(String(id)) as string,
      }),
    POLL,
  );
  expect((await get("resources"))["stack_resources"]).toEqual([]);
  await change({ enable_auto_rollback: false });
  await post("deployments", { template_body: TEMPLATE, vars_body: 'word = "bad"' });
  await reaches("DEPLOYMENT_FAILED");
  await expect(change({ enable_auto_rollback: true })).rejects.toMatchObject({
    httpStatusCode: 403,
  });
  expect((await get("resources"))["stack_resources"]).toHaveLength(1);
}, 180_000);

/** Runs of the stack that wait for an approval, and what is decided of them by others than the client. */
function decisions({ call }: Pick<Awaited<ReturnType<typeof start>>, "call">) {
  const path = "/api/v1/projects/web/stacks/shop/runs";
  const setRules = async (auto_apply: string) => {
    const project = "/api/v1/projects/web";
    const { headers } = await call("GET", project);
    const etag = headers.get("etag");
    const given = { body: { auto_apply }, headers: etag === null ? {} : { "if-match": etag } };
    expect((await call("PATCH", project, given)).status).toBe(200);
  };
  const waiting = async () =>
    vi.waitFor(async () => {
      const runs = (await call("GET", path)).json["runs"] as {
        id: string;
        phase: string;
        plan_digest: string;
        cause: string;
      }[];
      const found = runs.find(({ phase }) => phase === "awaiting_approval");
      if (found === undefined) throw new Error("no run waits");
      return found;
    }, POLL);
  const approve = async (run: { readonly id: string; readonly plan_digest: string }) => {
    const given = { body: { plan_digest: run.plan_digest } };
    expect((await call("POST", `${path}/${run.id}/approvals`, given)).status).toBeLessThan(300);
  };
  const discard = async ({ id }: { readonly id: string }) =>
    expect((await call("POST", `${path}/${id}/discard`, { body: {} })).status).toBeLessThan(300);
  return { setRules, waiting, approve, discard };
}

it("says that going back failed, and continues it", async () => {
  const at = await start();
  const { reaches, post, words, create, deploy } = at;
  const { setRules, waiting, approve, discard } = decisions(at);
  await create({ template_body: TEMPLATE, vars_body: 'word = "good"' });
  await reaches("DEPLOYMENT_COMPLETE");
  // What goes back waits for an approval, like every run of the project; whoever refuses that has stopped it.
  await setRules("never");
  const { deployment_id: failed } = await deploy("bad");
  await approve(await waiting());
  await reaches("ROLLBACK_IN_PROGRESS");
  const back = await waiting();
  expect(back.cause).toBe(`rollback:${String(failed)}`);
  await expect(deploy("good")).rejects.toMatchObject({ httpStatusCode: 403 });
  await discard(back);
  await reaches("ROLLBACK_FAILED");
  await setRules("on_request");
  expect(await post("rollbacks", {})).toMatchObject({ httpStatusCode: 202 });
  await reaches("ROLLBACK_COMPLETE");
  expect(await words()).toEqual(["good"]);
}, 180_000);

it("continues a deployment that was refused, with its template and its values, and none that is complete", async () => {
  const at = await start();
  const { reaches, post, words, create, deploy, get } = at;
  const { setRules, waiting, approve, discard } = decisions(at);
  await create({ template_body: TEMPLATE, vars_body: 'word = "good one"' });
  await reaches("DEPLOYMENT_COMPLETE");
  await setRules("never");
  await deploy("good two");
  await discard(await waiting());
  const failed = await reaches("DEPLOYMENT_FAILED");
  expect(failed["status_message"]).not.toBe("");
  // It had changed nothing, and no one asked to go back.
  expect(await words()).toEqual(["good one"]);
  const { deployment_id: id } = await post("continuations", {});
  await approve(await waiting());
  await reaches("DEPLOYMENT_COMPLETE");
  expect(await words()).toEqual(["good two"]);
  const { stack_events: events } = await get("events", { deployment_id: String(id) });
  expect(events).not.toEqual([]);
  await expect(post("continuations", {})).rejects.toMatchObject({
    httpStatusCode: 403,
    errorCode: "RF.10905006",
  });
}, 180_000);

it("refuses templates that import objects, which cannot be taken back", async () => {
  const { create } = await start();
  const template = `${TEMPLATE}\nimport {\n  to = terraform_data.first\n  id = "x"\n}`;
  await expect(
    create({ template_body: template, vars_body: 'word = "good"' }),
  ).rejects.toMatchObject({ httpStatusCode: 400 });
}, 60_000);
