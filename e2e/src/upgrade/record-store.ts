import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { requireCommand } from "@stackwright-tools/processes";
import { Scratch } from "../testing/scratch.ts";
import { Fleet, type ServerPlace } from "./fleet.ts";
import { FORMER_RELEASES, installFormerRelease } from "./former-release.ts";
import { STORE_FIXTURE, storedConfiguration } from "./stored-runs.ts";

// Records what stored-runs.test.ts opens: the embedded store of a server of a former release, with runs in several phases.

const { workers } = FORMER_RELEASES;
const former = [await installFormerRelease(workers)] as const;
await using scratch = await Scratch.make();
const fleet = new Fleet(scratch, `sqlite:${join(scratch.folder, "store")}`);
await fleet.begin(former);
const [place] = (await fleet.places(1)) as [ServerPlace];
const server = await fleet.server(former, place, []);
await fleet.call(place, "/stacks", { name: "one" });
const variable = { value: "hunter2hunter2", sensitive: true };
await fleet.call(place, "/stacks/one/variables/terraform/word", variable, "PUT");
const applied = await fleet.request(place, "one", storedConfiguration("first"));
await fleet.reaches(place, applied, /^applied$/);
const waiting = await fleet.request(place, "one", storedConfiguration("second"), {});
await fleet.reaches(place, waiting, /^awaiting_approval$/);
const queued = await fleet.request(place, "one", storedConfiguration("third"), {});
await server.stop();
await mkdir(STORE_FIXTURE, { recursive: true });
const archive = join(STORE_FIXTURE, "store.tar.gz");
await requireCommand([
  "tar",
  "-C",
  scratch.folder,
  "--exclude=store/runs",
  "-czf",
  archive,
  "store",
]);
const key = await readFile(join(scratch.folder, "key"), "utf8");
const recorded = { release: workers.commit, key, token: fleet.token, applied, waiting, queued };
await writeFile(join(STORE_FIXTURE, "runs.json"), `${JSON.stringify(recorded, undefined, 2)}\n`);
process.stdout.write(`recorded in ${STORE_FIXTURE}\n`);
