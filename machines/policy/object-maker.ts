/** Policies are read in two ways: loosely from the log, and strictly (unknown keys are errors) from a configuration. */
import { z } from 'zod';

export type ObjectMaker = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => z.ZodObject<Shape>;

export const looseObject: ObjectMaker = (shape) => z.object(shape);
export const strictObject: ObjectMaker = (shape) => z.strictObject(shape) as never;
