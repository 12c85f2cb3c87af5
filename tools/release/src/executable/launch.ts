import { launch } from "./unpacked-command.ts";

// The program inside the executable.
launch();
