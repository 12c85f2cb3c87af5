import type { Command } from "commander";
import type { NotificationOptions } from "../commands/notifications.ts";
import type { ServerProjectOptions } from "../runs/run-place.ts";
import type { CommandAction, Define } from "./program.ts";
import { collect } from "./run-commands.ts";

/** Commands about where the events of a project are sent. */
export function defineNotificationCommands(define: Define, run: CommandAction): void {
  const group = define(
    "notifications",
    "send events of a project to webhooks, chats and mailboxes",
  );

  withProject(define("list", "list the destinations of a project", group)).action(
    async (options: ServerProjectOptions, command: Command) => {
      const { notificationsList } = await import("../commands/notifications.ts");
      await run(command, async (context) => notificationsList(options, context));
    },
  );

  withProject(define("set <name>", "create a destination, or change one", group))
    .option("--kind <kind>", "webhook; slack, whose form other chats take, too; or email")
    .option("--url <url>", "the address that is called; of a mail server smtps://HOST:PORT")
    .option("--url-file <file>", "file with it, as that of a chat or a mail server holds a secret")
    .option("--from <address>", "what mails are from")
    .option("--to <address>", "a recipient of mails; may be repeated", collect, [])
    .option("--event <name>", "an event that is sent; may be repeated; all by default", collect, [])
    .option("--for <pattern>", "names of stacks; may be repeated; all by default", collect, [])
    .option("--pause", "send no further events", false)
    .option("--resume", "send events again", false)
    .option("--new-secret", "make a new secret; the former one also signs for 24 hours", false)
    .action(async (name: string, options: NotificationOptions, command: Command) => {
      const { notificationsSet } = await import("../commands/notifications.ts");
      await run(command, async (context) => notificationsSet(name, options, context));
    });

  withProject(define("delete <name>", "delete a destination", group)).action(
    async (name: string, options: ServerProjectOptions, command: Command) => {
      const { notificationsDelete } = await import("../commands/notifications.ts");
      await run(command, async (context) => notificationsDelete(name, options, context));
    },
  );

  withProject(define("test <name>", "send a test, and say how that went", group)).action(
    async (name: string, options: ServerProjectOptions, command: Command) => {
      const { notificationsTest } = await import("../commands/notifications.ts");
      await run(command, async (context) => notificationsTest(name, options, context));
    },
  );

  withProject(define("deliveries <name>", "list what was sent, and what waits", group)).action(
    async (name: string, options: ServerProjectOptions, command: Command) => {
      const { notificationsDeliveries } = await import("../commands/notifications.ts");
      await run(command, async (context) => notificationsDeliveries(name, options, context));
    },
  );

  withProject(
    define("redeliver <name> <delivery>", "send an event to a destination again", group),
  ).action(
    async (name: string, delivery: string, options: ServerProjectOptions, command: Command) => {
      const { notificationsRedeliver } = await import("../commands/notifications.ts");
      await run(command, async (context) =>
        notificationsRedeliver(name, delivery, options, context),
      );
    },
  );
}

function withProject(command: Command): Command {
  return command
    .option("--server <url>", "address of the server; without it that of the last login")
    .option("--project <name>", "the project; STACKWRIGHT_PROJECT, or default")
    .option("--json", "write JSON", false);
}
