import { describe, expect, it, onTestFinished } from "vitest";
import type { Service } from "../../environment/environment.ts";
import type { Story } from "../../environment/story.ts";
import { waitFor } from "../../testing/wait-for.ts";
import { GATED, head, note } from "./templates.ts";
import { plain, storiesOfThisFile } from "./with-story.ts";

const begin = storiesOfThisFile();

/** Brings a service back, also where the test has failed by then: others need it. */
function whileDown({ environment }: Story, service: Service): () => Promise<void> {
  let isDown = true;
  const bringBack = async () => {
    if (!isDown) return;
    isDown = false;
    await environment.start(service);
  };
  onTestFinished(bringBack);
  return bringBack;
}

/** Somebody whose `up` has made one note, and makes the other one after the gate is open. */
async function halfway(story: Story) {
  const person = await story.person();
  const after = "  depends_on = [gate_file.slow]";
  await person.configures(
    head(story, "1.0.0") + note(story, "a", "one") + GATED + note(story, "b", "two", after),
  );
  const up = person.starts("up", "--yes");
  await waitFor("the call", () => story.scratch.calls().includes("create slow"), {
    seen: () => up.text,
  });
  await up.says("notes_note.a: Creation complete");
  return { person, up };
}

describe("what a stack lives on", { timeout: 300_000 }, () => {
  it("without its function a stack is not planned, stays as it is, and continues with it", async () => {
    const story = await begin();
    await story.publish(1);
    const person = await story.person();
    const top = head(story, "1.0.0") + note(story, "a", "one");
    await person.configures(top);
    expect(await person.runs("up", "--yes")).toMatchObject({ code: 0 });
    const state = await person.recorded();

    await story.environment.kill("functions");
    const bringBack = whileDown(story, "functions");
    await person.configures(top + note(story, "b", "two"));
    for (const words of [["plan"], ["up", "--yes"]]) {
      const down = await person.runs(...words);
      expect(down.code).toBe(1);
      expect(plain(down)).toContain("Provider not available");
      expect(plain(down)).toContain(`${story.provider}@1.0.0 cannot be`);
    }
    expect(await person.recorded()).toEqual(state);

    await bringBack();
    const up = await person.runs("up", "--yes");
    expect(up.code, up.error).toBe(0);
    expect(up.output).toContain("1 added, 0 changed, 0 destroyed");
    expect(await story.notes()).toEqual(["a", "b"]);
  });

  it("without its function an apply ends with what was done, and the next one does the rest", async () => {
    const story = await begin();
    await story.publish(1);
    const { person, up } = await halfway(story);
    await story.environment.kill("functions");
    const bringBack = whileDown(story, "functions");
    await story.scratch.open("open");
    const down = await up.end();
    expect(down.code).toBe(1);
    // An engine that publishes the port takes the connection, so that whether the call came through is not known.
    const said = /Partially applied: 2 added, 0 changed, 0 destroyed, 1 (?:failed|unresolved)\./;
    expect(plain(down)).toMatch(said);
    expect(plain(down)).toContain("The next run continues from there");
    const ready = (await person.recorded()).map(({ address }) => address).toSorted();
    expect(ready).toEqual(["gate_file.slow", "notes_note.a"]);

    await bringBack();
    expect(await story.notes()).toEqual(["a"]);
    const again = await person.runs("up", "--yes");
    expect(again.code, again.error).toBe(0);
    expect(again.output).toContain("1 added, 0 changed, 0 destroyed");
    expect(await story.notes()).toEqual(["a", "b"]);
    expect(story.scratch.calls()).toEqual(["create slow"]);
  });

  it("the server stops on request, and knows everything when it is back", async () => {
    const story = await begin();
    await story.publish(1);
    const person = await story.person();
    await person.configures(head(story, "1.0.0") + note(story, "a", "one"));
    expect(await person.runs("up", "--yes")).toMatchObject({ code: 0 });
    await story.environment.stop("server");
    const bringBack = whileDown(story, "server");
    const down = await person.runs("plan");
    expect(down.code).toBe(1);
    expect(plain(down)).toContain(`The store ${story.environment.store} cannot be used: `);
    await bringBack();
    expect(await person.runs("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
    expect(await story.uses()).toEqual(["1.0.0"]);
  });

  it("a server that is killed while a stack is deployed comes back, and nothing is made twice", async () => {
    const story = await begin();
    await story.publish(1);
    const { person, up } = await halfway(story);
    await story.environment.crash("server");
    await story.scratch.open("open");
    const ended = await up.end();
    expect(ended.code, plain(ended)).toBe(0);
    expect(ended.output).toContain("3 added, 0 changed, 0 destroyed");
    expect(story.scratch.calls()).toEqual(["create slow"]);
    expect(await story.notes()).toEqual(["a", "b"]);
    expect(await person.runs("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
  });
});
