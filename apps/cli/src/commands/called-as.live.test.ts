import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const hasCommand = spawnSync(COMMAND, ["version"]).status === 0;
const LAUNCHER = join(import.meta.dirname, "../../bin/stackwright");

/** What pipelines have: options of CI, exit codes, a saved plan, JSON read by another program, an answer from a pipe. */
const SCRIPT = `#!/bin/sh
set -eu
export TF_IN_AUTOMATION=1 TF_CLI_ARGS_plan=-lock-timeout=30s TF_VAR_size=2
json() { node -e 'const fs = require("fs"); console.log(eval(process.argv[1])(JSON.parse(fs.readFileSync(0, "utf8"))))' "$1"; }
plan() { rc=0; terraform plan -input=false -no-color -detailed-exitcode "$@" > plan.log || rc=$?; echo "plan $rc"; }

terraform version | head -n 1
terraform version -json | json 'd => d.terraform_version + d.terraform_outdated'
terraform -version | head -n 1
terraform init -input=false -no-color -backend=true -upgrade=false -reconfigure > init.log
terraform fmt -check -recursive -list=false; echo "fmt $?"
terraform validate -json | json 'd => d.valid + " " + d.error_count'
terraform workspace list | tr -d ' \\n'; echo
plan -out=tfplan -var=name=ci
terraform show -json tfplan | json 'd => d.resource_changes.map(c => c.address + " " + c.change.actions).sort().join()'
terraform show -no-color tfplan | grep -c 'will be created'
terraform apply -input=false -auto-approve -no-color -lock-timeout=60s tfplan | grep -o 'Apply complete! Resources: .*\\|Apply complete: .*' | grep -o '[0-9]* added'
rc=0; terraform apply -input=false tfplan > again.log 2>&1 || rc=$?; echo "stale $rc"
terraform output -raw names; echo
terraform output -json | json 'd => d.names.value + d.names.sensitive + d.names.type + d.token.sensitive'
terraform state list
terraform state pull | json 'd => d.version + " " + d.resources.length + " " + d.outputs.names.value'
plan -var=name=ci
TF_VAR_size=3 plan -var=name=ci -refresh=false -parallelism=4
terraform taint -no-color 'terraform_data.item[1]' > taint.log; plan -var=name=ci -target='terraform_data.item[1]'
echo yes | TF_VAR_size=1 terraform apply -no-color -var=name=ci > pipe.log; terraform state list
terraform workspace new ci > workspace.log; terraform workspace show
TF_WORKSPACE=default terraform output -raw names; echo
terraform workspace select default > workspace.log
terraform refresh -input=false -no-color -var=name=ci > refresh.log; echo "refresh $?"
terraform graph | grep -c digraph
terraform providers schema -json | json 'd => d.format_version'
echo no | terraform destroy -no-color -var=name=ci > refused.log 2>&1 || echo "refused $?"
terraform destroy -input=false -auto-approve -no-color -var=name=ci > destroy.log
terraform state list; echo "left $?"
terraform apply nothing.plan > missing.log 2>&1 || echo "missing $?"
`;

const CONFIGURATION = `variable "size" {
  type = number
}

variable "name" {
  type = string
}

resource "terraform_data" "item" {
  count = var.size
  input = "\${var.name}-\${count.index}"
}

output "names" {
  value = join(",", terraform_data.item[*].output)
}

output "token" {
  value     = sensitive("canary")
  sensitive = true
}
`;

/** Runs the script in a folder where `terraform` is a link to a program. */
async function runWith(program: string): Promise<readonly string[]> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "called-as-"));
  onTestFinished(() => scratch.remove());
  const work = join(scratch.path, "work");
  const programs = join(scratch.path, "programs");
  await mkdir(work);
  await mkdir(programs);
  await symlink(program, join(programs, "terraform"));
  await writeFile(join(work, "main.tf"), CONFIGURATION);
  const script = join(scratch.path, "pipeline");
  await writeFile(script, SCRIPT);
  await chmod(script, 0o755);
  const PATH = `${programs}:${process.env["PATH"]}`;
  const options = { cwd: work, env: { PATH, HOME: scratch.path, CHECKPOINT_DISABLE: "1" } };
  const { stdout } = await promisify(execFile)(script, [], options).catch((error: unknown) => {
    const { stdout: out, stderr } = error as { readonly stdout: string; readonly stderr: string };
    throw new Error(`The script failed behind:\n${out}\n${stderr}`, { cause: error });
  });
  return stdout.split("\n");
}

it("a script of a pipeline does the same with both commands, unchanged", {
  timeout: 300_000,
}, async ({ skip }) => {
  skip(!hasCommand, "there is no terraform command (STACKWRIGHT_TERRAFORM)");
  const where = await promisify(execFile)("sh", ["-c", `command -v ${COMMAND}`]);
  const expected = await runWith(where.stdout.trim());
  expect(expected[0]).toMatch(/^Terraform v1\./);
  expect(expected).toContain("stale 1");
  expect(await runWith(LAUNCHER)).toEqual(expected);
});
