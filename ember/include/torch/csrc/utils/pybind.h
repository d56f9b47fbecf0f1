#include "ember/extension.h"
