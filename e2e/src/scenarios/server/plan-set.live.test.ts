import { expect, it } from "vitest";
import { callServer } from "../../environment/call-server.ts";
import { ServerStack } from "../../environment/server-stack.ts";
import { waitFor } from "../../testing/wait-for.ts";
import { storiesOfThisFile } from "../main-job/with-story.ts";

const begin = storiesOfThisFile();

const SETS = "/api/v1/projects/default/plan-sets";

interface ShownSet {
  readonly id: string;
  readonly phase: string;
  readonly digest?: string;
  readonly stacks: readonly { readonly stack: string }[];
}

it("two stacks of which one reads the other are planned as one, approved once, and applied in order", {
  timeout: 240_000,
}, async () => {
  const { environment, provider } = await begin();
  const { server } = environment;
  const network = await ServerStack.create(environment, `${provider}-network`);
  const shop = await ServerStack.create(environment, `${provider}-shop`);
  const configurations = {
    [shop.name]: await shop.upload(`data "terraform_remote_state" "network" {
  backend = "stackwright"
  config  = { stack = "${network.name}" }
}
resource "terraform_data" "a" { input = data.terraform_remote_state.network.outputs.id }
`),
    [network.name]: await network.upload(`resource "terraform_data" "net" {}
output "id" { value = terraform_data.net.id }
`),
  };
  const stacks = Object.entries(configurations).map(([stack, configuration]) => ({
    stack,
    configuration,
  }));
  const { id } = await callServer<ShownSet>(server, "POST", SETS, { stacks, mode: "apply" });
  const reaches = async (phase: string) => {
    let seen: ShownSet | undefined;
    return waitFor(
      `the set to be ${phase}`,
      async () => {
        seen = await callServer<ShownSet>(server, "GET", `${SETS}/${id}`);
        return seen.phase === phase ? seen : undefined;
      },
      { limitMs: 120_000, pollMs: 500, seen: () => JSON.stringify(seen) },
    );
  };
  const planned = await reaches("awaiting_approval");
  expect(planned.stacks.map(({ stack }) => stack)).toEqual([network.name, shop.name]);
  await callServer(server, "POST", `${SETS}/${id}/approvals`, { digest: planned.digest });
  await reaches("applied");
  await network.reaches("applied", 1);
  await shop.reaches("applied", 1);
});
