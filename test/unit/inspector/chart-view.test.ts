/** The view of a chart: fitting, zooming around a point, and moving as little as needed to show a state. */
import { expect, test } from 'vitest';
import type { ChartDrawing } from '../../../src/inspector/chart/drawing.ts';
import { fitView, panBy, showArea, zoomAbout } from '../../../src/inspector/chart/view.ts';

const drawing = { width: 1_300, height: 1_000, boxes: [] } as unknown as ChartDrawing;
const box = { x: 1_000, y: 800, width: 200, height: 100 };

test.each([
  { room: { width: 1_300, height: 500 }, why: 'as high as the room' },
  { room: { width: 620, height: 900 }, why: 'as wide as the room' },
  { room: { width: 2_000, height: 2_000 }, why: 'in the middle of a larger room' },
])('the whole is in view, $why', ({ room }) => {
  const { x, y, scale } = fitView(drawing, room, box, 0.3);
  expect(x).toBeLessThanOrEqual(0);
  expect(y).toBeLessThanOrEqual(0);
  expect(x + room.width / scale).toBeGreaterThanOrEqual(drawing.width);
  expect(y + room.height / scale).toBeGreaterThanOrEqual(drawing.height);
});

test('shows the active state if the whole would be too small to read', () => {
  const room = { width: 240, height: 400 };
  const { x, y, scale } = fitView(drawing, room, box, 0.3);
  expect(scale).toBeGreaterThan(0.7);
  expect([x <= box.x, y <= box.y]).toEqual([true, true]);
  expect(x + room.width / scale).toBeGreaterThanOrEqual(box.x + box.width);
});

test('zooming keeps the point under the pointer in place', () => {
  const before = { x: 100, y: 50, scale: 0.5 };
  const pointer = { x: 240, y: 130 };
  const after = zoomAbout(before, 1.7, pointer);
  expect(after.x + pointer.x / after.scale).toBeCloseTo(before.x + pointer.x / before.scale);
  expect(after.y + pointer.y / after.scale).toBeCloseTo(before.y + pointer.y / before.scale);
  expect(zoomAbout(before, 1_000, pointer).scale).toBe(3);
});

test('a drag moves the drawing with the pointer, at any scale', () => {
  expect(panBy({ x: 0, y: 0, scale: 0.5 }, 10, -20)).toEqual({ x: -20, y: 40, scale: 0.5 });
});

test('moves only for a state outside the view', () => {
  const view = { x: 0, y: 0, scale: 1 };
  const room = { width: 600, height: 600 };
  expect(showArea(view, room, { x: 10, y: 10, width: 50, height: 50 })).toEqual(view);
  expect(showArea(view, room, box)).toMatchObject({ x: 1_200 - 600 + 8, y: 900 - 600 + 8 });
});
