// wide.glsl - the first five blocks in sixteens of bytes: written to the first, read from the others.
layout(set = 1, binding = 0, std430) writeonly buffer Wide0 { uvec4 d[]; } w0;
layout(set = 1, binding = 1, std430) readonly buffer Wide1 { uvec4 d[]; } w1;
layout(set = 1, binding = 2, std430) readonly buffer Wide2 { uvec4 d[]; } w2;
layout(set = 1, binding = 3, std430) readonly buffer Wide3 { uvec4 d[]; } w3;
layout(set = 1, binding = 4, std430) readonly buffer Wide4 { uvec4 d[]; } w4;
