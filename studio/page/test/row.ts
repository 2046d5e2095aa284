// A row of a timeline, for tests that look at some of its members.

import type { Row } from "../src/wire/documents";

export const ROW: Omit<Row, "id"> = { thread: "t", step: 0, source: "loop", at: "", run: "", ran: [], next: [], changed: [] };
