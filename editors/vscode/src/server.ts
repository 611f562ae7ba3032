// Which program is the server. Knows nothing of the editor, so that it can be tested without one.

import * as path from "node:path";

/** What must be known to find the program. */
export interface Surroundings {
  /** `opwright.path`, perhaps with `${workspaceFolder}` or a leading `~`. */
  configured: string;
  folders: readonly string[];
  home: string;
  windows: boolean;
  isFile(path: string): boolean;
}

/** The program: as configured, else the one of a virtual environment of the workspace, else the one on the path. */
export function program(around: Surroundings): string {
  if (around.configured.trim() !== "") {
    return expanded(around.configured.trim(), around);
  }
  const join = around.windows ? path.win32.join : path.posix.join;
  const name = around.windows ? join("Scripts", "opwright.exe") : join("bin", "opwright");
  for (const folder of around.folders) {
    for (const environment of [".venv", "venv"]) {
      const found = join(folder, environment, name);
      if (around.isFile(found)) {
        return found;
      }
    }
  }
  return "opwright";
}

function expanded(written: string, around: Surroundings): string {
  const text = written.replaceAll("${workspaceFolder}", around.folders[0] ?? "");
  return text.startsWith("~/") ? around.home + text.slice(1) : text;
}

/** A position as the protocol has it. */
export interface Position {
  line: number;
  character: number;
}

/** A place of a launch, as the server sends it. */
export interface Launch {
  uri: string;
  range: { start: Position; end: Position };
}

/** The arguments of the code lens above a kernel; undefined for anything else. */
export function launches(args: readonly unknown[]): { uri: string; position: Position; places: Launch[] } | undefined {
  const [uri, position, places] = args;
  if (typeof uri !== "string" || !isPosition(position) || !Array.isArray(places) || !places.every(isLaunch)) {
    return undefined;
  }
  return { uri, position, places };
}

function isPosition(value: unknown): value is Position {
  const position = value as Position | null | undefined;
  return typeof position?.line === "number" && typeof position.character === "number";
}

function isLaunch(value: unknown): value is Launch {
  const launch = value as Launch | null | undefined;
  return typeof launch?.uri === "string" && isPosition(launch.range?.start) && isPosition(launch.range?.end);
}
