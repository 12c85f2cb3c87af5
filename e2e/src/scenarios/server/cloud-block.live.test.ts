import { expect, it } from "vitest";
import { callServer } from "../../environment/call-server.ts";
import { ServerStack } from "../../environment/server-stack.ts";
import { TerraformCommand } from "../../testing/terraform-command.ts";
import { storiesOfThisFile } from "../main-job/with-story.ts";

const begin = storiesOfThisFile();

const HOST = "stackwright.test";
const WORKSPACES = "/api/v2/organizations/default/workspaces";

it("terraform applies a workspace of the cloud block on its machine, and then on the server", {
  timeout: 300_000,
}, async (context) => {
  const { environment, provider: name, scratch } = await begin();
  const terraform = await TerraformCommand.find(context, scratch);
  const { url, credentials } = environment.server;
  // Hosts are found over TLS alone; these services are named instead.
  const services = ["tfe.v2", "tfe.v2.1", "tfe.v2.2", "state.v2"].map(
    (service) => `    "${service}" = "${url}/api/v2/"\n`,
  );
  await terraform.configures(`host "${HOST}" {
  services = {
${services.join("")}  }
}
credentials "${HOST}" {
  token = "${credentials.token}"
}
`);
  const configure = async (word: string) =>
    scratch.write({
      "main.tf": `terraform {
  cloud {
    hostname     = "${HOST}"
    organization = "default"
    workspaces { name = "${name}" }
  }
}
resource "terraform_data" "word" { input = "${word}" }
output "word" {
  value     = terraform_data.word.output
  sensitive = true
}
`,
    });
  const execution = async (mode: "local" | "remote") => ({
    data: { attributes: { name, "execution-mode": mode } },
  });
  await callServer(environment.server, "POST", WORKSPACES, await execution("local"));
  const stack = new ServerStack(environment, name);

  await configure("here");
  await terraform.ok("init");
  expect(await terraform.ok("apply", "-auto-approve")).toContain("1 added");
  expect((await terraform.runs("plan", "-detailed-exitcode")).code).toBe(0);
  expect(await terraform.ok("output", "-raw", "word")).toBe("here");
  expect(await stack.runs()).toEqual([]);

  await callServer(environment.server, "PATCH", `${WORKSPACES}/${name}`, await execution("remote"));
  await configure("there");
  const planned = await terraform.runs("plan", "-detailed-exitcode");
  expect(planned.code, planned.text).toBe(2);
  expect(planned.text).toContain("0 to add, 1 to change, 0 to destroy");
  expect(await terraform.ok("apply", "-auto-approve")).toContain("1 changed");
  expect(await terraform.ok("output", "-raw", "word")).toBe("there");
  expect(await terraform.ok("destroy", "-auto-approve")).toContain("1 destroyed");
  expect(await terraform.ok("state", "list")).toBe("");
  const phases = (await stack.runs()).map(({ phase }) => phase);
  expect(phases).toEqual(["plan_finished", "applied", "applied"]);
});
