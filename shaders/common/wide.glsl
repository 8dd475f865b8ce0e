// wide.glsl - the first five blocks in sixteens of bytes: written to the first, read from the others.
#include "tables/memory_wide.glsl"
