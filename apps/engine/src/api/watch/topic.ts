import type { Principal } from "@stackwright/registry";
import { modeNameOf } from "../../domain/run-modes.ts";
import type { ChangeRing } from "../../live/change-ring.ts";
import type { LiveView } from "../../live/live-view.ts";
import type { Reaction } from "../../live/reactions.ts";
import type { NamedRun } from "../../live/recent-runs.ts";
import { seesProject, seesStack } from "../authorize.ts";
import { isOfOneStack, openResourceTopics } from "./resource-topics.ts";
import { statusFor, statusViewOf } from "./status-view.ts";

/** The text of an object for readers, and where it belongs. */
export interface TopicItem {
  readonly account: string;
  /** Undefined for what belongs to the account as a whole. */
  readonly project: string | undefined;
  /** Its name, where those who see this stack may know it. */
  readonly stack?: string;
  readonly id: string;
  /** Encoded as JSON; at most once for all readers. */
  readonly text: string;
  /** The text for a reader who may not see all that it names. Absent where it names nothing else. */
  readonly textFor?: ((isVisible: Visible) => string) | undefined;
}

/** What changed in one turn. */
interface TopicTurn {
  readonly revision: number;
  readonly set: readonly TopicItem[];
  readonly deleted: readonly TopicItem[];
}

/** Objects that readers can follow. */
export interface Topic {
  readonly name: string;
  snapshot(): { readonly revision: number; readonly items: readonly TopicItem[] };
  /** The next turns behind a revision, at most `limit`; undefined where they are gone. */
  after(revision: number, limit: number): readonly TopicTurn[] | undefined;
  whenSynced(options: { readonly signal: AbortSignal }): Promise<void>;
  /** Objects of the first view that were read, where these are many. */
  listed?(): number;
  changed(signal: AbortSignal): Promise<void>;
}

/** What a reader may see. */
export type Visible = (item: Pick<TopicItem, "account" | "project" | "stack">) => boolean;

export function visibleTo(principal: Principal): Visible {
  return ({ account, project, stack }) =>
    account === principal.account &&
    (project === undefined ||
      (seesProject(principal, project) &&
        (stack === undefined || seesStack(principal, project, stack))));
}

const PLACE = "[A-Za-z0-9][A-Za-z0-9._-]{0,63}/[A-Za-z0-9][A-Za-z0-9._-]{0,127}";
/** What topics a request may name. */
export const TOPIC_PATTERN = `(?:stacks|runs|queue|reactions|registry|run:[0-9A-Za-z_.-]{1,128}|resources:${PLACE})`;

/** Finds a topic by its name, in an account. Those of one view share the texts of their objects. */
export function openTopics(live: LiveView): (name: string, account: string) => Topic {
  const resourcesOf = openResourceTopics(live);
  const runs = topicOf("runs", live.runChanges, runViewOf);
  const topics = new Map(
    [
      topicOf("stacks", live.stackChanges, statusViewOf, undefined, statusFor),
      runs,
      topicOf("queue", live.queueChanges, (queued) => {
        const { id, project, number, position, phase } = queued;
        const stack = queued.stackName;
        return { id, project, stack, number, position, phase, created_at: at(queued.createdAtMs) };
      }),
      topicOf("reactions", live.reactionChanges, reactionViewOf),
      topicOf(
        "registry",
        live.registryChanges,
        ({ id, region, provider, version, healthy, problem, createdAtMs }) => ({
          id,
          region,
          provider,
          version,
          ...(healthy !== undefined && { healthy }),
          ...(problem !== "" && { problem }),
          created_at: at(createdAtMs),
        }),
        () => undefined,
      ),
    ].map((topic) => [topic.name, topic]),
  );
  return (name, account) => {
    if (isOfOneStack(name)) return resourcesOf(name, account);
    return topics.get(name) ?? only(runs, name, name.slice("run:".length));
  };
}

function reactionViewOf({ nextAtMs, lastRun, problem, source, ...reaction }: Reaction): object {
  const { id, project, stackName: stack, on, paused, due } = reaction;
  return {
    id,
    project,
    stack,
    on,
    paused,
    due,
    ...(source !== "" && { source }),
    ...(nextAtMs !== 0 && { next_at: at(nextAtMs) }),
    ...(lastRun !== "" && { last_run: lastRun }),
    ...(problem !== "" && { problem }),
  };
}

function runViewOf(run: NamedRun): object {
  const { id, project, stackName: stack, number, phase, mode, cause, actor } = run;
  return {
    id,
    project,
    stack,
    number,
    phase,
    mode: modeNameOf(mode) ?? "command",
    cause,
    actor,
    created_at: at(run.createdAtMs),
    updated_at: at(run.updatedAtMs),
  };
}

function topicOf<T extends { readonly account: string; readonly id: string }>(
  name: string,
  ring: ChangeRing<T>,
  viewOf: (object: T) => object,
  projectOf: (object: T) => string | undefined = (object) =>
    (object as { readonly project?: string }).project,
  forReader?: (object: T, isVisible: Visible) => T,
): Topic {
  const items = new WeakMap<T, TopicItem>();
  const itemOf = (object: T): TopicItem => {
    let item = items.get(object);
    if (item === undefined) {
      let text: string | undefined;
      item = {
        account: object.account,
        project: projectOf(object),
        id: object.id,
        get text() {
          return (text ??= JSON.stringify(viewOf(object)));
        },
        ...(forReader !== undefined && {
          textFor: (isVisible) => {
            const shown = forReader(object, isVisible);
            return shown === object ? itemOf(object).text : JSON.stringify(viewOf(shown));
          },
        }),
      };
      items.set(object, item);
    }
    return item;
  };
  return {
    name,
    snapshot: () => {
      const { revision, objects } = ring.snapshot();
      return { revision, items: objects.map(itemOf) };
    },
    after: (from, limit) =>
      ring
        .after(from)
        ?.slice(0, limit)
        .map(({ revision, set, deleted }) => ({
          revision,
          set: set.map(itemOf),
          deleted: deleted.map(itemOf),
        })),
    whenSynced: async (options) => ring.whenSynced(options),
    changed: async (signal) => ring.changed(signal),
  };
}

/** One object of a topic as a topic of its own. */
function only(topic: Topic, name: string, id: string): Topic {
  const isIt = (item: TopicItem): boolean => item.id === id;
  return {
    ...topic,
    name,
    snapshot: () => {
      const { revision, items } = topic.snapshot();
      return { revision, items: items.filter(isIt) };
    },
    after: (from, limit) =>
      topic.after(from, limit)?.map(({ revision, set, deleted }) => ({
        revision,
        set: set.filter(isIt),
        deleted: deleted.filter(isIt),
      })),
  };
}

function at(ms: number): string {
  return new Date(ms).toISOString();
}
